import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

/** Why kcat, a client that is not ours and not the service's, cannot be used; false where it can. */
export const NO_KCAT = missing('kcat', '-V', 'install Debian package kcat')
/** Why psql cannot be used; false where it can. */
export const NO_PSQL = missing('psql', '--version', 'install Debian package postgresql-client')

function missing(command: string, versionOption: string, remedy: string): string | false {
  return spawnSync(command, [versionOption]).error !== undefined && `no ${command} here: ${remedy}`
}

/** Publishes one message a line by kcat's producer. @param options such as `['-z', 'snappy']` */
export async function publishByKcat(
  brokers: string,
  topic: string,
  lines: readonly string[],
  options: readonly string[] = [],
): Promise<void> {
  // A little linger, so that the lines travel in one batch: a batch of its own for each may not be compressed.
  const args = ['-P', '-b', brokers, '-t', topic, '-X', 'linger.ms=50', ...options]
  await run('kcat', args, lines.join('\n'))
}

/** The rows of a query as psql shows them, a list of columns each. */
export async function psql(databaseUrl: string, query: string): Promise<string[][]> {
  const output = await run(
    'psql',
    [databaseUrl, '-X', '-A', '-t', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-c', query],
    '',
  )
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
}

async function run(command: string, args: readonly string[], input: string): Promise<string> {
  const child = spawn(command, args, { timeout: 60_000 })
  const output: string[] = []
  const errors: string[] = []
  child.stdout.on('data', (data) => output.push(String(data)))
  child.stderr.on('data', (data) => errors.push(String(data)))
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${errors.join('')}`)
  return output.join('')
}
