import type { Logger } from 'pino'
import { receiptsOf } from './receipts.ts'
import type { Sender } from './sender.ts'

export interface SmsSenderOptions {
  readonly log: Logger
}

/** The placeholder for SMS: records each batch and contacts nobody (specification). */
export function createSmsSender({ log }: SmsSenderOptions): Sender {
  log.info({ channel: 'SMS' }, 'SMS is recorded only: nothing is transmitted')
  return {
    async send(messages) {
      log.debug({ channel: 'SMS', messageCount: messages.length }, 'messages recorded')
      if (log.isLevelEnabled('trace')) {
        for (const { idempotencyKey } of messages)
          log.trace({ channel: 'SMS', idempotencyKey }, 'message recorded')
      }
      return receiptsOf('SMS', messages)
    },
  }
}
