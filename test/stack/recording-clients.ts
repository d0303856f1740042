import { createSenders as createSilentSenders } from '../../src/service/app/clients.ts'
import { ADDRESSED_CHANNELS, type AddressedChannel } from '../../src/service/decide/party/channel.ts'
import type { Senders } from '../../src/service/send/send.ts'
import type { TransportMessage } from '../../src/service/send/sender.ts'

export * from '../../src/service/app/clients.ts'

type Recorder = (channel: AddressedChannel, messages: readonly TransportMessage[]) => void
let record: Recorder = () => {}

export function recordTo(recorder: Recorder): void {
  record = recorder
}

/** The senders of the service, each of which tells first whom its messages are for. */
export function createSenders(...args: Parameters<typeof createSilentSenders>): Senders {
  const senders = createSilentSenders(...args)
  const recording = ADDRESSED_CHANNELS.map((channel) => {
    const sender = senders[channel]
    const send: typeof sender.send = (messages, options) => {
      record(channel, messages)
      return sender.send(messages, options)
    }
    return [channel, { ...sender, send }] as const
  })
  return { ...senders, ...Object.fromEntries(recording) }
}
