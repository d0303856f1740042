// The process between a test and its server. It owns one directory and runs at most one process at a time in
// it, on behalf of the parent that forked it. When the channel to that parent closes, for whatever reason
// (SIGKILL included), it ends the process and removes the directory. It lives in its own session, so that a
// Ctrl-C at the terminal reaches the parent only.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command, FromKeeper, ToKeeper } from './keep.ts'

/** How long an abandoned process may take to end before it is killed. */
const ABANDON_TIMEOUT_MS = 5_000

const [name = '', givenDir = '', abandonSignal = 'SIGKILL'] = process.argv.slice(2)
const dir = givenDir || mkdtempSync(join(tmpdir(), `notifications-${name}-`))
mkdirSync(dir, { recursive: true })
const logFile = openSync(join(dir, 'log'), 'a')

let child: ChildProcess | undefined
let leaving = false

process.on('message', (message: ToKeeper) => {
  if (message.type === 'spawn') spawnChild(message.command)
  else signalChild(message.signal)
})
for (const event of ['disconnect', 'SIGINT', 'SIGTERM', 'SIGHUP']) process.once(event, leave)
report({ type: 'ready', dir })

function spawnChild({ file, args, env, uid, gid }: Command): void {
  if (leaving) return
  child = spawn(file, args, {
    cwd: dir,
    env: { ...process.env, ...env },
    detached: true,
    // A server that reads its standard input ends when that closes: it stays open as long as this process.
    stdio: ['pipe', logFile, logFile],
    ...(uid === undefined ? {} : { uid, gid }),
  })
  child.once('spawn', () => report({ type: 'spawned', pid: child?.pid ?? 0 }))
  child.once('error', (error) => {
    child = undefined
    report({ type: 'failed', error: error.message })
  })
  child.once('exit', (code, signal) => {
    child = undefined
    report({ type: 'exited', code, signal })
    if (leaving) remove()
  })
}

/** SIGKILL goes to the whole process group, since its leader can no longer end the others. */
function signalChild(signal: NodeJS.Signals): void {
  if (child?.pid === undefined) return
  if (signal === 'SIGKILL') process.kill(-child.pid, signal)
  else child.kill(signal)
}

function leave(): void {
  if (leaving) return
  leaving = true
  if (child === undefined) remove()
  signalChild(abandonSignal as NodeJS.Signals)
  setTimeout(() => signalChild('SIGKILL'), ABANDON_TIMEOUT_MS)
}

function remove(): never {
  // A directory that the caller named holds data that the caller wants to keep.
  if (!givenDir) rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  process.exit()
}

function report(message: FromKeeper): void {
  // A parent that has just gone is noticed by the disconnect.
  if (process.connected) process.send?.(message, () => {})
}
