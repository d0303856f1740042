import { type Delivery, deliveryOf, type Send } from '../core/attempt/delivery.ts'
import { ADDRESS_OF, type AddressedChannel, type Channel } from '../core/decision/channel.ts'
import type { Message, Sender, SendResult } from './sender.ts'

export type Senders = Readonly<Record<AddressedChannel, Sender>>

/**
 * For a whole hand-over, in ms. The transaction that waits for it has no statement to run meanwhile, and is ended by the
 * database after 5 s of that.
 */
const DEADLINE_MS = 2_000

/**
 * Hands messages to the senders of their channels, each sender called once with all of its own. Never rejects: a sender
 * that throws, does not answer for each message or not within the deadline, fails its whole group, and whether its messages
 * went out is unknown.
 */
export function sendByChannel(senders: Senders, deadlineMs = DEADLINE_MS): Send {
  return async (outgoing) => {
    const deliveries = new Map<string, Delivery>()
    const groups = new Map<Channel, Group>()
    for (const { locator, channel, idempotencyKey, to, subject, body } of outgoing) {
      if (ADDRESS_OF[channel] === null) deliveries.set(locator, deliveryOf(null))
      else if (to === null) deliveries.set(locator, deliveryOf({ error: `no address for ${channel}` }))
      else {
        const group = groups.get(channel) ?? new Group()
        groups.set(channel, group)
        group.add(locator, { idempotencyKey, to, subject, body })
      }
    }
    const deadline = startDeadline(deadlineMs)
    await Promise.all([...groups].map(([channel, group]) => sendGroup(channel as AddressedChannel, group)))
    deadline.clear()
    return deliveries

    async function sendGroup(channel: AddressedChannel, { messages, locators }: Group): Promise<void> {
      const results = await resultsOf(channel, senders[channel], messages, deadline)
      locators.forEach((locator, i) => void deliveries.set(locator, deliveryOf(results[i] ?? null)))
    }
  }
}

interface Deadline {
  readonly ms: number
  readonly signal: AbortSignal
  /** Resolves to null when it has passed. */
  readonly passed: Promise<null>
  readonly clear: () => void
}

function startDeadline(ms: number): Deadline {
  const { promise: passed, resolve } = Promise.withResolvers<null>()
  const controller = new AbortController()
  const timer = setTimeout(() => {
    controller.abort()
    resolve(null)
  }, ms)
  return { ms, signal: controller.signal, passed, clear: () => clearTimeout(timer) }
}

/** The messages for one sender, and the locators of their rows, which the sender does not see. */
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
  { ms, signal, passed }: Deadline,
): Promise<readonly (SendResult & { readonly isUnknown?: true })[]> {
  try {
    const results = await Promise.race([sender.send(batch, signal), passed])
    if (results?.length === batch.length && results.every(isResult)) return results
    if (results === null) return unknown(`the ${channel} sender did not answer within ${ms} ms`)
    const count = results.filter(isResult).length
    return unknown(`the ${channel} sender answered for ${count} of ${batch.length} messages`)
  } catch (error) {
    // Not the error's own words: a transport may well quote the address in them.
    return unknown(`the ${channel} sender failed (${codeOf(error)})`)
  }

  function unknown(error: string) {
    return batch.map(() => ({ error, isUnknown: true as const }))
  }
}

function isResult(result: unknown): result is SendResult {
  if (typeof result !== 'object' || result === null) return false
  return 'error' in result
    ? typeof result.error === 'string'
    : 'receipt' in result && typeof result.receipt === 'string'
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
