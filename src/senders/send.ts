import type { Channel } from '../core/decision/channel.ts'
import type { Message, Sender, SendResult } from './sender.ts'

/** IN_APP has none: the log row is the message. */
export type Senders = Readonly<Record<Exclude<Channel, 'IN_APP'>, Sender>>

/** A message on its way to the sender of its channel; `to` is null where none is needed. */
export interface Outgoing extends Omit<Message, 'to'> {
  readonly channel: Channel
  readonly to: string | null
}

/**
 * Hands messages to the senders of their channels, each sender called once with all of its own. Resolves to one
 * result for each message, in the order of the input, null for IN_APP. Never rejects: a sender that throws, or
 * does not answer for each message, fails its whole batch.
 */
export function sendByChannel(
  senders: Senders,
): (outgoing: readonly Outgoing[]) => Promise<(SendResult | null)[]> {
  return async (outgoing) => {
    const results = new Array<SendResult | null>(outgoing.length).fill(null)
    const batches = { EMAIL: new Batch(), SMS: new Batch() }
    outgoing.forEach(({ channel, idempotencyKey, to, subject, body }, position) => {
      if (channel === 'IN_APP') return
      if (to === null) results[position] = { error: `no address for ${channel}` }
      else batches[channel].add({ idempotencyKey, to, subject, body }, position)
    })
    await Promise.all([sendAll('EMAIL'), sendAll('SMS')])
    return results

    async function sendAll(channel: keyof Senders): Promise<void> {
      const { messages, positions } = batches[channel]
      if (messages.length === 0) return
      const sent = await resultsOf(channel, senders[channel], messages)
      positions.forEach((position, index) => {
        results[position] = sent[index] ?? null
      })
    }
  }
}

/** What one sender gets, and where in the input each message stands. */
class Batch {
  readonly messages: Message[] = []
  readonly positions: number[] = []

  add(message: Message, position: number): void {
    this.messages.push(message)
    this.positions.push(position)
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
