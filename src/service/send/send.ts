import {
  type Answer,
  type Delivery,
  type OutgoingMessage,
  type Send,
  toDelivery,
} from '../decide/attempt/delivery.ts'
import { type AddressedChannel, type Channel, isAddressed, isChannel } from '../decide/party/channel.ts'
import { readCode } from '../text/error-codes.ts'
import type { Sender, TransportMessage } from './sender.ts'

export type Senders = Readonly<Record<AddressedChannel, Sender>>

/**
 * Deadline of a whole hand-over, in ms. The waiting transaction runs no statement meanwhile, and the database ends it after 5 s
 * without one.
 */
const DEADLINE_MS = 2_000
/** Share of the deadline after which senders get the signal to stop. They can still answer for each message then. */
const ABORT_SHARE = 7 / 8

/**
 * Passes messages to the senders of their channels, in parts of at most `countMax`. Never rejects: if a sender throws, does not
 * answer for each message or misses the deadline, the result of that part is unknown. Parts not passed on by then are deferred.
 */
export function sendByChannel(senders: Senders, deadlineMs = DEADLINE_MS): Send {
  return async (outgoing, query) => {
    const deliveries = new Map<string, Delivery>()
    const passed = Promise.withResolvers<null>()
    const stop = new AbortController()
    const timers = [
      setTimeout(() => stop.abort(), deadlineMs * ABORT_SHARE),
      setTimeout(passed.resolve, deadlineMs, null),
    ]
    const groups = Map.groupBy(outgoing, ({ channel }) => channel)
    await Promise.all([...groups].map(([channel, group]) => sendGroup(channel, group)))
    timers.forEach(clearTimeout)
    return deliveries

    async function sendGroup(channel: Channel, group: readonly OutgoingMessage[]): Promise<void> {
      if (!isAddressed(channel)) {
        // The types exclude an unknown channel. If there is one nevertheless, nothing may count as sent.
        const delivery = isChannel(channel)
          ? NO_SENDER
          : toDelivery(channel, { answer: 'refused', error: `no sender for ${channel}` })
        for (const { locator } of group) deliveries.set(locator, delivery)
        return
      }
      const refused = toDelivery(channel, { answer: 'refused', error: `no address for ${channel}` })
      for (const { locator, to } of group) if (to === null) deliveries.set(locator, refused)
      const addressed = group.filter(hasAddress)
      const { countMax, isPlaceholder } = senders[channel]
      for (let start = 0; start < addressed.length; start += countMax) {
        const part = addressed.slice(start, start + countMax)
        const answers = stop.signal.aborted
          ? part.map(() => LATE)
          : await askSender(channel, part.map(toMessage))
        for (const [i, answer] of answers.entries())
          deliveries.set(part[i]?.locator ?? '', toDelivery(channel, answer, isPlaceholder))
      }
    }

    async function askSender(
      channel: AddressedChannel,
      part: readonly TransportMessage[],
    ): Promise<readonly Answer[]> {
      const unknown = (error: string) => part.map((): Answer => ({ answer: 'unknown', error }))
      try {
        const sent = senders[channel].send(part, { signal: stop.signal, query })
        const answers = await Promise.race([sent, passed.promise])
        if (answers?.length === part.length && answers.every(isAnswer)) return answers
        if (answers === null) return unknown(`the ${channel} sender did not answer within ${deadlineMs} ms`)
        const count = answers.filter(isAnswer).length
        return unknown(`the ${channel} sender answered for ${count} of ${part.length} messages`)
      } catch (error) {
        // Not the error's own message: a transport may quote the address in it.
        return unknown(`the ${channel} sender failed (${readCode(error)})`)
      }
    }
  }
}

type AddressedMessage = OutgoingMessage & { readonly to: string }

const hasAddress = (message: OutgoingMessage): message is AddressedMessage => message.to !== null

/** The sender does not see the locator of the row. */
function toMessage({ idempotencyKey, to, subject, body }: AddressedMessage): TransportMessage {
  return { idempotencyKey, to, subject, body }
}

const NO_SENDER: Delivery = { receipt: null, error: null }
const LATE: Answer = { answer: 'deferred', error: 'the deadline passed before the sender got it' }

function isAnswer(given: unknown): given is Answer {
  const { answer, receipt, error } = (given ?? {}) as Record<string, unknown>
  if (answer === 'accepted') return typeof receipt === 'string'
  return /^(refused|unknown|deferred)$/.test(String(answer)) && typeof error === 'string'
}
