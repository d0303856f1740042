// Preloaded into the replicas: the senders' record of each message then says whom it is for. The service itself writes an
// address nowhere, not even at level trace.
import { registerHooks } from 'node:module'

const RECORDED = '{ channel, idempotencyKey }'

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context)
    if (!url.endsWith('/src/senders/placeholder.ts')) return loaded
    const source = String(loaded.source)
    if (!source.includes(`const { idempotencyKey } of`) || !source.includes(RECORDED))
      throw new Error('the placeholder of the senders has changed: record its recipients in another way')
    return {
      ...loaded,
      source: source
        .replace('const { idempotencyKey } of', 'const { idempotencyKey, to } of')
        .replace(RECORDED, '{ channel, idempotencyKey, to }'),
    }
  },
})
