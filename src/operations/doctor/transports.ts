import { createSenders } from '../../service/app/clients.ts'
import { createLog } from '../../service/telemetry/log.ts'
import type { Check } from './remedies.ts'

export const transportsCheck: Check = {
  name: 'transports',
  prefix: 'SMTP_',
  run: async (config) => {
    const senders = Object.entries(createSenders(config, createLog('silent')))
    const placeholders = senders.flatMap(([channel, { isPlaceholder }]) => (isPlaceholder ? channel : []))
    return placeholders.length === 0
      ? 'no placeholder'
      : `${placeholders.join(' and ')}: recorded by placeholders, and not delivered`
  },
  remedies: { other: 'see src/service/send/README.md' },
}
