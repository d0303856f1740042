import t from 'tap'
import type { Send } from '../../../src/core/log/delivery.ts'
import type { DueEntry } from '../../../src/core/log/due-entry.ts'
import { listDueEntries } from '../../../src/postgres/read/list-due-entries.ts'
import { loadCheckpoint } from '../../../src/postgres/write/checkpoints.ts'
import { commitBatch } from '../../../src/postgres/write/commit-batch.ts'
import { commitRetries } from '../../../src/postgres/write/commit-retries.ts'
import { sendByChannel } from '../../../src/senders/send.ts'
import type { Sender } from '../../../src/senders/sender.ts'
import { aBatch, anEntry, openDatabase } from '../fixtures.ts'
import { record, retryAll, UNRESOLVED } from '../record.ts'

const { pool, client } = await openDatabase(t)
const limits = { maxAgeMs: 3_600_000, attemptCountMax: 10, minPauseMs: -3_600_000 }
const DEADLINE_MS = 20

/** A sender that does what it is told, and the keys that it was given. */
function toldSender() {
  const keys: string[] = []
  let behaviour: 'hang' | 'refuse' | 'send' | 'break' = 'send'
  const sender: Sender = {
    send: async (messages) => {
      keys.push(...messages.map(({ idempotencyKey }) => idempotencyKey))
      if (behaviour === 'hang') return new Promise(() => {})
      return messages.map(() => (behaviour === 'refuse' ? { error: 'mailbox full' } : { receipt: 'r' }))
    },
  }
  const send = sendByChannel({ EMAIL: sender, SMS: sender }, DEADLINE_MS)
  const orBreak: Send = async (messages) => {
    const deliveries = await send(messages)
    if (behaviour === 'break') throw new Error('the connection is lost')
    return deliveries
  }
  return { keys, send: orBreak, be: (next: typeof behaviour) => (behaviour = next) }
}

const sending = ({ due }: { due: DueEntry }) => ({
  due,
  decision: anEntry('a').decision,
  status: 'SENT' as const,
  attemptCount: due.attemptCount + 1,
  address: 'member@example.com',
})

async function retryDue(send: Send): Promise<void> {
  const { due } = await listDueEntries(pool, limits, null, 10)
  const asked = due.map((entry) => ({ due: entry, contact: undefined }))
  await commitRetries(pool, { ruleTableRevision: 'def', asked, request: null, decide: sending }, send, {
    error: () => t.fail(),
  })
}

t.test(
  'rows of a sender that hangs are FAILED, and tried again under the same key until it answers',
  async (t) => {
    await loadCheckpoint(pool, 'claims', 0)
    const { keys, send, be } = toldSender()
    const retry = async (next: Parameters<typeof be>[0]) => {
      be(next)
      await retryDue(send)
    }
    be('hang')
    const result = await commitBatch(pool, aBatch([anEntry('a')]), send)
    t.match(result, { kind: 'committed', inserted: [{ status: 'FAILED' }] })
    const { rows } = await client.query(
      'SELECT status, failure_reason, attempt_count FROM notifications.notification_log',
    )
    t.same(rows, [
      {
        status: 'FAILED',
        failure_reason: `the EMAIL sender did not answer within ${DEADLINE_MS} ms`,
        attempt_count: 1,
      },
    ])
    t.equal((await loadCheckpoint(pool, 'claims', 0)).offset, 0n, 'and the partition goes on')

    await retry('hang')
    await retry('refuse')
    await retry('hang')
    await retry('send')
    t.same(keys, ['a/1', 'a/1', 'a/1', 'a/1', 'a/1'], 'a later error says nothing of the first send')
    const { rows: decisions } = await client.query(
      'SELECT attempt, receipt, unknown_attempt FROM notifications.decision ORDER BY attempt',
    )
    t.same(decisions, [
      { attempt: 1, receipt: null, unknown_attempt: 1 },
      { attempt: 2, receipt: null, unknown_attempt: 1 },
      { attempt: 3, receipt: null, unknown_attempt: 1 },
      { attempt: 4, receipt: null, unknown_attempt: 1 },
      { attempt: 5, receipt: 'r', unknown_attempt: null },
    ])
    t.same((await client.query('SELECT status, attempt_count FROM notifications.notification_log')).rows, [
      { status: 'SENT', attempt_count: 5 },
    ])
  },
)

t.test('a send that was rolled back is made again under its key, whatever is decided between', async (t) => {
  await record(pool, [{ eventId: 'b', contact: UNRESOLVED }])
  const { keys, send, be } = toldSender()
  be('break')
  await t.rejects(retryDue(send), { message: 'the connection is lost' })
  await retryAll(pool, UNRESOLVED)
  be('refuse')
  await retryDue(send)
  await retryAll(pool, UNRESOLVED)
  be('send')
  await retryDue(send)
  t.same(keys, ['b/1', 'b/1', 'b/2'], 'and a send that was refused is another one')
})
