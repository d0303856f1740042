import type { Logger } from 'pino'
import { createPlaceholder } from './placeholder.ts'
import type { Sender } from './sender.ts'

/** Placeholder for SMS: records each batch and contacts nobody (specification). */
export function createSmsSender(log: Logger): Sender {
  log.info({ channel: 'SMS' }, 'SMS is recorded only: nothing is transmitted')
  return createPlaceholder('SMS', log)
}
