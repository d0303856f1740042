import { ADDRESSED_CHANNELS } from '../../../src/service/decide/party/channel.ts'
import type { Senders } from '../../../src/service/send/send.ts'
import type { Sender } from '../../../src/service/send/sender.ts'

/** Quotes an address, as transports do. */
export const throwing: Sender = {
  countMax: 100,
  async send() {
    throw Object.assign(new Error('550 secret@example.org is unknown'), { code: 'EENVELOPE' })
  },
}

/** These senders; those of all other channels throw. */
export function someSenders(some: Partial<Senders>): Senders {
  const others = Object.fromEntries(ADDRESSED_CHANNELS.map((channel) => [channel, throwing]))
  return { ...(others as Senders), ...some }
}
