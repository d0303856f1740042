// node test/stack/with-stack.ts -- <command …>
// Runs a command with a PostgreSQL and a Kafka broker of its own, whose addresses it finds in DATABASE_URL and
// MQ_BROKERS. Where these are set already they win, and nothing is started. KAFKA_KIND is apache, mock or external.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { requireWritable } from './environment.ts'
import { kafkaServer, postgresServer } from './servers.ts'

const COMMAND_NOT_FOUND = 127
const PROGRESS_MS = 60_000

/** Says each minute how many test files are done, where no terminal shows it. RESULTS is what tap writes. */
function showProgress(): NodeJS.Timeout | undefined {
  const { RESULTS } = process.env
  if (RESULTS === undefined || process.stderr.isTTY) return
  return setInterval(async () => {
    const results = await readFile(RESULTS, 'utf8').catch(() => '')
    const done = results.match(/^(not )?ok /gm) ?? []
    const failed = done.filter((line) => line.startsWith('not'))
    console.error(`${done.length} test files done, ${failed.length} failed`)
  }, PROGRESS_MS).unref()
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
await requireWritable(join(import.meta.dirname, '../../.cache'))
const servers = await Promise.all([postgresServer(), kafkaServer(console.error)])
console.error(`stack: ${servers.map((server) => server.description).join(', ')}`)
const progress = showProgress()
process.exitCode = await run(command, Object.assign({}, ...servers.map((server) => server.env)))
clearInterval(progress)
await Promise.all(servers.map((server) => server.close()))
