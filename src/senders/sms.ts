import type { Logger } from 'pino'
import { createPlaceholder } from './placeholder.ts'
import type { Sender } from './sender.ts'

export interface SmsSenderOptions {
  readonly log: Logger
}

/** The placeholder for SMS: records each batch and contacts nobody (specification). */
export function createSmsSender({ log }: SmsSenderOptions): Sender {
  log.info({ channel: 'SMS' }, 'SMS is recorded only: nothing is transmitted')
  return createPlaceholder('SMS', log)
}
