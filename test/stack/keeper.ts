// The process between a test and its server, in a session of its own, so that a Ctrl-C at the terminal reaches the test only.
// Once its parent is gone, however that ended (SIGKILL included), it ends the server and removes a temporary directory.
import { spawn } from 'node:child_process'
import { openSync, rmSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Kept } from './keep.ts'

/** Time that an abandoned server has before it is killed. */
const ABANDON_TIMEOUT_MS = 5_000

const { file, args, uid, gid, dir, isTemporary, abandonSignal }: Kept = JSON.parse(process.argv[2] ?? '')
const log = openSync(join(dir, 'log'), 'a')
let isAbandoned = false

// Before there is a server: a signal that came just after its start would otherwise end this process alone.
process.on('message', end)
for (const event of ['disconnect', 'SIGINT', 'SIGTERM', 'SIGHUP']) process.once(event, abandon)

const child = spawn(file, args, {
  cwd: dir,
  detached: true,
  // A server that reads its standard input ends when that closes: it stays open as long as this process.
  stdio: ['pipe', log, log],
  ...(uid === undefined ? {} : { uid, gid }),
})
child.once('spawn', () => process.send?.(child.pid, () => {}))
child.once('error', ({ message }) => {
  writeSync(log, message)
  process.exit(1)
})
child.once('exit', (code, signal) => {
  if (isAbandoned && isTemporary) rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal])
})

/** SIGKILL goes to the whole process group, since its leader can no longer end the others. */
function end(signal: NodeJS.Signals): void {
  if (signal === 'SIGKILL' && child.pid !== undefined) process.kill(-child.pid, signal)
  else child.kill(signal)
}

function abandon(): void {
  isAbandoned = true
  end(abandonSignal)
  setTimeout(end, ABANDON_TIMEOUT_MS, 'SIGKILL')
}
