// Preloaded into commands: a stand-in for the providers of email and SMS. It writes down the idempotency key of each
// message that it gets, in the file SENT_KEYS.
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const BEGINNING = 'async send(messages) {'
const { SENT_KEYS = '' } = process.env

Object.assign(globalThis, {
  provide(messages: readonly { idempotencyKey: string }[]): void {
    appendFileSync(SENT_KEYS, messages.map(({ idempotencyKey }) => `${idempotencyKey}\n`).join(''))
  },
})

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith('/src/senders/placeholder.ts')) return loaded
    const source = String(loaded.source)
    if (!source.includes(BEGINNING)) throw new Error('the placeholder of the senders has changed')
    return { ...loaded, source: source.replace(BEGINNING, `${BEGINNING} globalThis.provide(messages)`) }
  },
})
