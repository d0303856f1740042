import type { Channel } from '../core/channel.ts'
import type { Message, SendResult } from './sender.ts'

/**
 * What a placeholder gives back for a batch: success, with a receipt that is the same whenever the same
 * attempt is sent again (specification, "Delivery is a placeholder").
 */
export function receiptsOf(channel: Channel, messages: readonly Message[]): SendResult[] {
  return messages.map(({ idempotencyKey }) => ({ receipt: `${channel}:${idempotencyKey}` }))
}
