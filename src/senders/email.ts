import type { Logger } from 'pino'
import { createPlaceholder } from './placeholder.ts'
import type { Sender } from './sender.ts'

/** Placeholder for email: reads its settings, records each batch and contacts nobody (specification). */
export function createEmailSender(
  smtp: { readonly host: string; readonly port: number },
  log: Logger,
): Sender {
  log.info(
    { channel: 'EMAIL', mailServer: `${smtp.host}:${smtp.port}` },
    'email is recorded only: the mail server is never contacted and nothing is transmitted',
  )
  return createPlaceholder('EMAIL', log)
}
