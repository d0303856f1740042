import { requireCreateDb } from './environment.ts'
import { startKafka } from './kafka.ts'
import { startPostgres } from './postgres.ts'
import { timed } from './timed.ts'

/** A server of the local stack, or in its place one that the environment names. */
export interface Server {
  name: 'PostgreSQL' | 'Kafka'
  /** Which it is, and how long its start took. */
  description: string
  /** Environment variables for the programs that use it. */
  env: Record<string, string>
  /** False where the environment names it: then it is not ours to watch or to stop. */
  local: boolean
  /** Resolves, to how it ended, when it has; never for one that the environment names. */
  ended(): Promise<string>
  logTail(): Promise<string>
  close(): Promise<void>
}

type Log = (line: string) => void

/** PostgreSQL as DATABASE_URL says, else one of our own. */
export async function postgresServer(log?: Log): Promise<Server> {
  const { DATABASE_URL } = process.env
  if (DATABASE_URL) {
    await requireCreateDb(DATABASE_URL)
    return external('PostgreSQL', 'DATABASE_URL', { DATABASE_URL })
  }
  const { value, seconds } = await timed(() => startPostgres(log ? { log } : {}))
  return {
    ...value,
    name: 'PostgreSQL',
    description: `PostgreSQL in ${seconds} s`,
    env: { DATABASE_URL: value.url },
    local: true,
  }
}

/** Kafka as MQ_BROKERS says, else one of our own, whose process is KAFKA_PID. KAFKA_KIND is apache, mock or external. */
export async function kafkaServer(log: Log): Promise<Server> {
  if (process.env.MQ_BROKERS)
    return external('Kafka', 'MQ_BROKERS', { MQ_BROKERS: process.env.MQ_BROKERS, KAFKA_KIND: 'external' })
  const { value, seconds } = await timed(() => startKafka({ log }))
  return {
    ...value,
    name: 'Kafka',
    description: `Kafka (${value.kind}) in ${seconds} s`,
    env: { MQ_BROKERS: value.brokers, KAFKA_KIND: value.kind, KAFKA_PID: String(value.pid()) },
    local: true,
  }
}

function external(name: Server['name'], variable: string, env: Record<string, string>): Server {
  return {
    name,
    description: `${name} as ${variable} says`,
    env,
    local: false,
    ended: () => new Promise(() => {}),
    logTail: async () => '',
    close: async () => {},
  }
}
