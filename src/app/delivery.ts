import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Channel } from '../core/decision/channel.ts'
import type { Entry } from '../core/log/compose-entry.ts'
import type { RetriedEntry } from '../core/log/decide-retry.ts'
import { type Delivery, deliveryOf } from '../core/log/delivery.ts'
import { idempotencyKey } from '../core/log/idempotency-key.ts'
import { createEmailSender } from '../senders/email.ts'
import { type Outgoing, sendByChannel } from '../senders/send.ts'
import { createSmsSender } from '../senders/sms.ts'

/** A message on its way, and the row that it belongs to. */
interface RowMessage extends Outgoing {
  readonly locator: string
}

/** Sends the messages of rows and says, by the rows' locators, what became of them. */
export function createDelivery(config: Config, log: Logger) {
  const send = sendByChannel({
    EMAIL: createEmailSender({ smtpHost: config.smtp.host, smtpPort: config.smtp.port, log }),
    SMS: createSmsSender({ log }),
  })
  return async (messages: readonly RowMessage[]): Promise<ReadonlyMap<string, Delivery>> => {
    const results = await send(messages)
    const deliveries = new Map<string, Delivery>()
    messages.forEach(({ locator }, i) => void deliveries.set(locator, deliveryOf(results[i] ?? null)))
    return deliveries
  }
}

/** What is to be sent of these rows. */
export function messagesOf<Row>(
  rows: readonly Row[],
  messageOf: (row: Row) => RowMessage | null,
): readonly RowMessage[] {
  const messages: RowMessage[] = []
  for (const row of rows) {
    const message = messageOf(row)
    if (message !== null) messages.push(message)
  }
  return messages
}

export function messageOfEntry({
  locator,
  event,
  decision,
  text,
  address,
  attemptCount,
}: Entry): RowMessage | null {
  if (decision.outcome !== 'SEND' || text === null) return null
  return rowMessage(locator, event.eventId, decision.channel, attemptCount, address, text)
}

export function messageOfRetry({ due, decision, address, attemptCount }: RetriedEntry): RowMessage | null {
  if (decision.outcome !== 'SEND') return null
  return rowMessage(due.locator, due.eventId, decision.channel, attemptCount, address, due)
}

function rowMessage(
  locator: string,
  eventId: string,
  channel: Channel,
  attempt: number,
  to: string | null,
  { subject, body }: Pick<Outgoing, 'subject' | 'body'>,
): RowMessage {
  return { locator, channel, idempotencyKey: idempotencyKey(eventId, attempt), to, subject, body }
}
