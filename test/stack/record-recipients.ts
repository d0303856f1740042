// Preloaded into the replicas: their log then says whom each message is for. The service itself writes an address nowhere.
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** The call in `senders/send.ts` that hands a part to its sender. */
const HAND_OVER = 'senders[channel].send(part, { signal: stop.signal, query })'

Object.assign(globalThis, {
  recordRecipients(channel: string, messages: readonly { idempotencyKey: string; to: string }[]): void {
    const time = new Date().toISOString()
    const lines = messages.map(({ idempotencyKey, to }) =>
      JSON.stringify({ level: 'trace', time, msg: 'message handed over', channel, idempotencyKey, to }),
    )
    for (const line of lines) writeLine(line)
  },
})

/** Waits while the pipe is full: its reader may be slower than the service. */
function writeLine(line: string): void {
  try {
    writeSync(1, `${line}\n`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    writeLine(line)
  }
}

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith('/src/service/send/send.ts')) return loaded
    const source = String(loaded.source)
    if (!source.includes(HAND_OVER)) throw new Error('messages are handed over in another way')
    return {
      ...loaded,
      source: source.replace(HAND_OVER, `(globalThis.recordRecipients(channel, part), ${HAND_OVER})`),
    }
  },
})
