import type { Logger } from 'pino'
import { RECORDED } from '../decide/attempt/delivery.ts'
import type { AddressedChannel } from '../decide/party/channel.ts'
import type { Sender } from './sender.ts'

/** Placeholder for email: reads its settings, records each batch and contacts nobody (specification). */
export function createEmailSender(
  smtp: { readonly host: string; readonly port: number },
  log: Logger,
): Sender {
  log.info(
    { channel: 'EMAIL', mailServer: `${smtp.host}:${smtp.port}` },
    'email is recorded only: the mail server is never contacted and nothing is transmitted',
  )
  return createPlaceholder('EMAIL', log)
}

/** Placeholder for any other channel: records each batch and contacts nobody (specification). */
export function createPlaceholderSender(channel: AddressedChannel, log: Logger): Sender {
  log.info({ channel }, `${channel} is recorded only: nothing is transmitted`)
  return createPlaceholder(channel, log)
}

/**
 * Records each batch in the log and contacts nobody. Every message succeeds. The receipt depends only on the attempt, so
 * repeating it gives the same one (specification, "Delivery is a placeholder").
 */
function createPlaceholder(channel: AddressedChannel, log: Logger): Sender {
  return {
    isPlaceholder: true,
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
