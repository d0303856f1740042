// node test/stack/with-stack.ts -- <command …>
// Runs a command with a PostgreSQL and a Kafka broker of its own, whose addresses it finds in DATABASE_URL and
// MQ_BROKERS. Where these are set already they win, and nothing is started. KAFKA_KIND is apache, mock or external.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { kafkaServer, postgresServer } from './servers.ts'

const COMMAND_NOT_FOUND = 127

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
const servers = await Promise.all([postgresServer(), kafkaServer(console.error)])
console.error(`stack: ${servers.map((server) => server.description).join(', ')}`)
process.exitCode = await run(command, Object.assign({}, ...servers.map((server) => server.env)))
await Promise.all(servers.map((server) => server.close()))
