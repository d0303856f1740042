import type { Logger } from 'pino'
import { createPlaceholder } from './placeholder.ts'
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
  return createPlaceholder('EMAIL', log)
}
