// node test/stack/with-stack.ts -- <command …>
// Runs a command with a PostgreSQL and a Kafka broker of its own, whose addresses it finds in DATABASE_URL and
// MQ_BROKERS. Where these are set already they win, and nothing is started. KAFKA_KIND is apache, mock or external.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { startKafka } from './kafka.ts'
import { startPostgres } from './postgres.ts'

interface Part {
  description: string
  env: Record<string, string>
  close(): Promise<void>
}

const COMMAND_NOT_FOUND = 127

async function postgresPart(): Promise<Part> {
  if (process.env.DATABASE_URL) return external('PostgreSQL as DATABASE_URL says', {})
  const { value, seconds } = await timed(() => startPostgres())
  return {
    description: `PostgreSQL in ${seconds} s`,
    env: { DATABASE_URL: value.url },
    close: value.close,
  }
}

async function kafkaPart(): Promise<Part> {
  if (process.env.MQ_BROKERS) return external('Kafka as MQ_BROKERS says', { KAFKA_KIND: 'external' })
  const { value, seconds } = await timed(() => startKafka({ log: console.error }))
  return {
    description: `Kafka (${value.kind}) in ${seconds} s`,
    env: { MQ_BROKERS: value.brokers, KAFKA_KIND: value.kind },
    close: value.close,
  }
}

function external(description: string, env: Record<string, string>): Part {
  return { description, env, close: async () => {} }
}

async function timed<T>(start: () => Promise<T>): Promise<{ value: T; seconds: string }> {
  const startedMs = performance.now()
  const value = await start()
  return {
    value,
    seconds: ((performance.now() - startedMs) / 1_000).toFixed(1),
  }
}

/** Runs the command to its end. @returns its exit code, 128 + n where signal n ended it, as a shell has it */
async function run([file = '', ...args]: string[], env: Record<string, string>): Promise<number> {
  const child = spawn(file, args, {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  // Ctrl-C reaches the command too: what it does about it is awaited, then the stack is stopped.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return code ?? 128 + constants.signals[signal ?? 'SIGKILL']
  } catch (error) {
    console.error(`${file} did not start: ${(error as Error).message}`)
    return COMMAND_NOT_FOUND
  }
}

const command = process.argv.slice(process.argv[2] === '--' ? 3 : 2)
if (command.length === 0) {
  console.error('usage: node test/stack/with-stack.ts -- <command …>')
  process.exit(2)
}
// Until the command runs, a signal ends this process at once, and with it what was started.
const parts = await Promise.all([postgresPart(), kafkaPart()])
console.error(`stack: ${parts.map((part) => part.description).join(', ')}`)
process.exitCode = await run(command, Object.assign({}, ...parts.map((part) => part.env)))
await Promise.all(parts.map((part) => part.close()))
