// Preloaded into commands: a stand-in for the providers of email and SMS. It writes down the idempotency key of each
// message that it gets, in the file SENT_KEYS.
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** Before the messages of a batch are handed to their senders, whichever those are, and their time begins. */
const HAND_OVER = 'const deadline = startDeadline(deadlineMs)'
const { SENT_KEYS = '' } = process.env

Object.assign(globalThis, {
  provide(messages: readonly { idempotencyKey: string }[]): void {
    appendFileSync(SENT_KEYS, messages.map(({ idempotencyKey }) => `${idempotencyKey}\n`).join(''))
  },
})

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith('/src/senders/send.ts')) return loaded
    const source = String(loaded.source)
    if (!source.includes(HAND_OVER)) throw new Error('messages are handed over in another way')
    return { ...loaded, source: source.replace(HAND_OVER, `globalThis.provide(outgoing); ${HAND_OVER}`) }
  },
})
