import type { PgBoss } from 'pg-boss'
import { v5 } from 'uuid'
import type { Answer } from '../../../../src/service/decide/attempt/delivery.ts'
import type { HandOver, Sender, TransportMessage } from '../../../../src/service/send/sender.ts'

export const QUEUE = 'mail'
/** An arbitrary constant. */
const NAMESPACE = '6d0f6a0e-3c1c-4c1f-9a57-0a4e3f7c2b11'

/**
 * Puts each message into a queue of pg-boss, in the transaction of its log row. The job's id is made from the idempotency key,
 * so that a message handed over twice is queued once for as long as the queue keeps finished jobs.
 */
export function createQueueSender(boss: PgBoss): Sender {
  return {
    countMax: 500,
    async send(messages, handOver) {
      try {
        return await enqueue(boss, messages, handOver)
      } catch (error) {
        if (!isRefusedData(error)) return messages.map(() => deferred(error))
        // One of them is refused: the others must not share its fate.
        const answers: Answer[] = []
        for (const message of messages)
          answers.push(...(await enqueue(boss, [message], handOver).catch((cause) => [refused(cause)])))
        return answers
      }
    },
  }
}

/** One statement: if it is refused, none of these messages is queued. */
async function enqueue(
  boss: PgBoss,
  messages: readonly TransportMessage[],
  { query }: HandOver,
): Promise<Answer[]> {
  const jobs = messages.map((data) => ({ id: v5(data.idempotencyKey, NAMESPACE), data }))
  const db = {
    executeSql: async (statement: string, values?: unknown[]) => ({
      rows: [...(await query(statement, values))],
    }),
  }
  await boss.insert(QUEUE, jobs, { db })
  return jobs.map(({ id }) => ({ answer: 'accepted', receipt: id }))
}

const refused = (error: unknown): Answer =>
  isRefusedData(error)
    ? { answer: 'refused', error: `the queue refused it (${codeOf(error)})` }
    : deferred(error)
const deferred = (error: unknown): Answer => ({
  answer: 'deferred',
  error: `the queue cannot be written (${codeOf(error)})`,
})
const isRefusedData = (error: unknown) => /^(22|23|54)/.test(codeOf(error))
const codeOf = (error: unknown) => String((error as { code?: unknown }).code ?? 'no code')
