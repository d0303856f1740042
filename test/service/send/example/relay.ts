// Takes mails from the queue and delivers them by SMTP. A mail that is delivered again, since nobody knows what became of it,
// has the same Message-ID: any number of relays may run, and each may be killed at any time.
import { createTransport } from 'nodemailer'
import { type Job, type JobResult, PgBoss } from 'pg-boss'
import type { TransportMessage } from '../../../../src/service/send/sender.ts'
import { QUEUE } from './queue-sender.ts'

const { DATABASE_URL = '', SMTP_PORT = '25' } = process.env
const MAILS_AT_ONCE = 10

const boss = new PgBoss({
  connectionString: DATABASE_URL,
  schedule: false,
  superviseIntervalSeconds: 1,
  monitorIntervalSeconds: 1,
})
boss.on('error', (error) => console.error(error))
await boss.start()
await boss.createQueue(QUEUE, {
  retryLimit: 1_000,
  retryDelay: 1,
  // Jobs of a relay that was killed are taken again after this time.
  expireInSeconds: 5,
  // Longer than RETRY_MAX_AGE: a message that is handed over again meets its job.
  deleteAfterSeconds: 7 * 86_400,
})
const transport = createTransport({
  host: '127.0.0.1',
  port: Number(SMTP_PORT),
  pool: true,
  maxConnections: MAILS_AT_ONCE,
  ignoreTLS: true,
  socketTimeout: 1_000,
})
const options = {
  batchSize: 2 * MAILS_AT_ONCE,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  perJobResults: true,
} as const
await boss.work<TransportMessage>(QUEUE, options, (jobs) => Promise.all(jobs.map(deliver)))
console.log('ready')

async function deliver({ id, data: { to, subject, body } }: Job<TransportMessage>): Promise<JobResult> {
  try {
    const messageId = `<${id}@notifications.example>`
    const { response } = await transport.sendMail({
      from: 'insurer@example.com',
      to,
      subject,
      text: body,
      messageId,
    })
    return { id, status: 'completed', output: { response } }
  } catch (error) {
    // A permanent refusal is final; anything else is tried again.
    const { responseCode = 0 } = error as { responseCode?: number }
    return { id, status: responseCode >= 500 ? 'deadletter' : 'failed', output: { responseCode } }
  }
}
