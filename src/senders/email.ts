import type { Logger } from 'pino'
import { receiptsOf } from './receipts.ts'
import type { Sender } from './sender.ts'

export interface EmailSenderOptions {
  readonly smtpHost: string
  readonly smtpPort: number
  readonly log: Logger
}

/** The placeholder for email: reads its settings, records each batch and contacts nobody (specification). */
export function createEmailSender({ smtpHost, smtpPort, log }: EmailSenderOptions): Sender {
  log.info(
    { channel: 'EMAIL', mailServer: `${smtpHost}:${smtpPort}` },
    'email is recorded only: the mail server is never contacted and nothing is transmitted',
  )
  return {
    async send(messages) {
      log.debug({ channel: 'EMAIL', messageCount: messages.length }, 'messages recorded')
      if (log.isLevelEnabled('trace')) {
        for (const { idempotencyKey } of messages)
          log.trace({ channel: 'EMAIL', idempotencyKey }, 'message recorded')
      }
      return receiptsOf('EMAIL', messages)
    },
  }
}
