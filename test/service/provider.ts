// Preloaded into commands: a stand-in for the providers of email and SMS. It writes down the idempotency key of each
// message that it gets, in the file SENT_KEYS. Where KILL is set it kills the process in its second batch: after messages went
// out, and before anything of their page is committed. Where TOGETHER is set the first batch of a process waits until another
// one sends, too.
import { appendFileSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** Before the messages of a batch are handed to their senders, whichever those are, and their time begins. */
const HAND_OVER = 'const deadline = startDeadline(deadlineMs)'
const { SENT_KEYS = '', KILL, TOGETHER } = process.env
/** Less than a transaction may be idle. */
const TOGETHER_MS_MAX = 3_000
let batchCount = 0

Object.assign(globalThis, {
  provide(messages: readonly { idempotencyKey: string }[]): void {
    // In one write: those of several processes do not mix.
    appendFileSync(SENT_KEYS, messages.map(({ idempotencyKey }) => `${idempotencyKey}\n`).join(''))
    batchCount++
    if (KILL !== undefined && batchCount === 2) process.kill(process.pid, 'SIGKILL')
    if (TOGETHER !== undefined && batchCount === 1) waitForAnother(`${SENT_KEYS}.senders`)
  },
})

/** Blocks the process. */
function waitForAnother(file: string): void {
  appendFileSync(file, '.')
  const untilMs = performance.now() + TOGETHER_MS_MAX
  while (readFileSync(file).length < 2 && performance.now() < untilMs)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
}

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith('/src/senders/send.ts')) return loaded
    const source = String(loaded.source)
    if (!source.includes(HAND_OVER)) throw new Error('messages are handed over in another way')
    return { ...loaded, source: source.replace(HAND_OVER, `globalThis.provide(outgoing); ${HAND_OVER}`) }
  },
})
