import type { Logger } from 'pino'
import { RECORDED } from '../core/attempt/delivery.ts'
import type { Channel } from '../core/decision/channel.ts'
import type { Sender } from './sender.ts'

/**
 * Records each batch in the log and contacts nobody. Every message succeeds. The receipt depends only on the attempt, so
 * repeating it gives the same one (specification, "Delivery is a placeholder").
 */
export function createPlaceholder(channel: Channel, log: Logger): Sender {
  return {
    countMax: Number.POSITIVE_INFINITY,
    async send(messages) {
      log.debug({ channel, messageCount: messages.length }, 'messages recorded')
      // Avoids an object per message unless someone reads it.
      if (log.isLevelEnabled('trace')) {
        for (const { idempotencyKey } of messages) log.trace({ channel, idempotencyKey }, 'message recorded')
      }
      return messages.map(({ idempotencyKey }) => ({
        answer: 'accepted',
        receipt: `${RECORDED}${channel}:${idempotencyKey}`,
      }))
    },
  }
}
