import { readFile } from 'node:fs/promises'
import { pino } from 'pino'
import t from 'tap'
import { createEmailSender, createSmsSender } from '../../src/senders/placeholders.ts'

const ROOM = new URL('../../src/senders/', import.meta.url)
const HAND_OVER = { signal: new AbortController().signal, query: async () => [] }
const MESSAGES = [
  { idempotencyKey: 'e-1/1', to: 'secret-address', subject: 'secret-subject', body: 'secret-body' },
  { idempotencyKey: 'e-2/1', to: 'secret-address', subject: 'secret-subject', body: 'secret-body' },
]

function logOf(level = 'debug') {
  const lines: Record<string, unknown>[] = []
  const log = pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { log, lines }
}

for (const [channel, create] of [
  ['EMAIL', (log: pino.Logger) => createEmailSender({ host: 'mail.example.org', port: 25 }, log)],
  ['SMS', (log: pino.Logger) => createSmsSender(log)],
] as const) {
  t.test(`${channel}: a receipt depends on channel and idempotency key alone`, async (t) => {
    const { log } = logOf()
    const first = await create(log).send(MESSAGES, HAND_OVER)
    t.strictSame(first, [
      { answer: 'accepted', receipt: `recorded:${channel}:e-1/1` },
      { answer: 'accepted', receipt: `recorded:${channel}:e-2/1` },
    ])
    const altered = MESSAGES.map((message) => ({ ...message, to: 'other', body: 'other' }))
    t.strictSame(await create(log).send(altered.reverse(), HAND_OVER), [...first].reverse())
  })

  t.test(
    `${channel}: one line warns that nothing is transmitted, one line counts a batch, none has a contact`,
    async (t) => {
      const { log, lines } = logOf()
      const sender = create(log)
      await sender.send(MESSAGES, HAND_OVER)
      t.strictSame(
        lines.map(({ level, messageCount }) => [level, messageCount]),
        [
          [30, undefined],
          [20, 2],
        ],
      )
      t.match(lines[0]?.msg, /nothing is transmitted/)
      if (channel === 'EMAIL') t.equal(lines[0]?.mailServer, 'mail.example.org:25')
      t.notMatch(JSON.stringify(lines), /secret/)
    },
  )

  t.test(`${channel}: at level trace each message is recorded by its idempotency key`, async (t) => {
    const { log, lines } = logOf('trace')
    await create(log).send(MESSAGES, HAND_OVER)
    const keys = lines.flatMap(({ idempotencyKey }) => idempotencyKey ?? [])
    t.strictSame(keys, ['e-1/1', 'e-2/1'])
    t.notMatch(JSON.stringify(lines), /secret/)
  })
}

t.test('no placeholder uses a network', async (t) => {
  const source = await readFile(new URL('placeholders.ts', ROOM), 'utf8')
  const imported = [...source.matchAll(/(?:from|import|require)\s*\(?\s*['"]([^'"]+)['"]/g)].map(
    ([, name]) => name,
  )
  const allowed = imported.filter(
    (name) => name === 'pino' || /^(\.|\.\.\/core)(\/[\w-]+)+\.ts$/.test(name ?? ''),
  )
  t.strictSame(imported, allowed)
  t.notMatch(source, /\bfetch\s*\(|WebSocket|\bprocess\b|import pino|import\s*\(/)
})
