import type { Channel } from '../core/decision/channel.ts'
import { type Delivery, deliveryOf, type Send } from '../core/log/delivery.ts'
import type { Message, Sender, SendResult } from './sender.ts'

/** IN_APP has none: the log row is the message. */
export type Senders = Readonly<Record<Exclude<Channel, 'IN_APP'>, Sender>>

/**
 * Hands messages to the senders of their channels, each sender called once with all of its own. Never rejects: a sender
 * that throws, or does not answer for each message, fails its whole group.
 */
export function sendByChannel(senders: Senders): Send {
  return async (outgoing) => {
    const deliveries = new Map<string, Delivery>()
    const groups = { EMAIL: new Group(), SMS: new Group() }
    for (const { locator, channel, idempotencyKey, to, subject, body } of outgoing) {
      if (channel === 'IN_APP') deliveries.set(locator, deliveryOf(null))
      else if (to === null) deliveries.set(locator, deliveryOf({ error: `no address for ${channel}` }))
      else groups[channel].add(locator, { idempotencyKey, to, subject, body })
    }
    await Promise.all([sendGroup('EMAIL'), sendGroup('SMS')])
    return deliveries

    async function sendGroup(channel: keyof Senders): Promise<void> {
      const { messages, locators } = groups[channel]
      if (messages.length === 0) return
      const results = await resultsOf(channel, senders[channel], messages)
      locators.forEach((locator, i) => void deliveries.set(locator, deliveryOf(results[i] ?? null)))
    }
  }
}

/** What one sender gets, and the locator of each message's row, which the sender does not see. */
class Group {
  readonly messages: Message[] = []
  readonly locators: string[] = []

  add(locator: string, message: Message): void {
    this.messages.push(message)
    this.locators.push(locator)
  }
}

async function resultsOf(
  channel: Channel,
  sender: Sender,
  batch: readonly Message[],
): Promise<readonly SendResult[]> {
  try {
    const results = await sender.send(batch)
    if (results.length === batch.length) return results
    return failed(`the ${channel} sender answered for ${results.length} of ${batch.length} messages`)
  } catch (error) {
    // Not the error's own words: a transport may well quote the address in them.
    return failed(`the ${channel} sender failed (${codeOf(error)})`)
  }

  function failed(error: string): SendResult[] {
    return batch.map(() => ({ error }))
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
