import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Send } from '../core/attempt/delivery.ts'
import { createEmailSender } from '../senders/email.ts'
import { sendByChannel } from '../senders/send.ts'
import { createSmsSender } from '../senders/sms.ts'

export function createSenders({ smtp }: Config, log: Logger): Send {
  return sendByChannel({
    EMAIL: createEmailSender(smtp, log),
    SMS: createSmsSender(log),
  })
}
