import { once } from 'node:events'
import { pino } from 'pino'
import t from 'tap'
import type { Answer, OutgoingMessage, Query } from '../../../src/service/decide/attempt/delivery.ts'
import type { Channel } from '../../../src/service/decide/party/channel.ts'
import { createEmailSender, createPlaceholderSender } from '../../../src/service/send/placeholders.ts'
import { type Senders, sendByChannel } from '../../../src/service/send/send.ts'
import type { Sender, TransportMessage } from '../../../src/service/send/sender.ts'
import { someSenders, throwing } from './build.ts'

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
  ['SMS', (log: pino.Logger) => createPlaceholderSender('SMS', log)],
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

  t.test(`${channel}: a line warns that nothing is sent, one counts a batch`, async (t) => {
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
  })

  t.test(`${channel}: at level trace each message is recorded by its idempotency key`, async (t) => {
    const { log, lines } = logOf('trace')
    await create(log).send(MESSAGES, HAND_OVER)
    const keys = lines.flatMap(({ idempotencyKey }) => idempotencyKey ?? [])
    t.strictSame(keys, ['e-1/1', 'e-2/1'])
    t.notMatch(JSON.stringify(lines), /secret/)
  })
}

function outgoing(channel: Channel, key: string): OutgoingMessage {
  return {
    locator: `NTF-${key}`,
    channel,
    idempotencyKey: key,
    to: channel === 'IN_APP' ? null : `to-${key}`,
    subject: 's',
    body: 'b',
  }
}

const NO_QUERY: Query = () => Promise.reject(new Error('no database'))
const accepted = (receipt: string): Answer => ({ answer: 'accepted', receipt })

/** The deliveries, in the order of the messages. */
function sendVia(senders: Senders) {
  const send = sendByChannel(senders)
  return async (messages: readonly OutgoingMessage[]) => {
    const deliveries = await send(messages, NO_QUERY)
    t.equal(deliveries.size, messages.length)
    return messages.map(({ locator }) => deliveries.get(locator))
  }
}

const sending = (send: Sender['send'], countMax = 100): Sender => ({ countMax, send })

function senderOf(prefix: string, countMax = 100) {
  const batches: (readonly TransportMessage[])[] = []
  const sender = sending(async (messages) => {
    batches.push(messages)
    return messages.map(({ idempotencyKey }) => accepted(prefix + idempotencyKey))
  }, countMax)
  return { sender, batches }
}

t.test('a message for an unknown channel is refused', async (t) => {
  const send = sendVia(someSenders({ EMAIL: senderOf('email:').sender }))
  t.match(await send([outgoing('PIGEON' as Channel, 'a')]), [
    { receipt: null, error: 'no sender for PIGEON' },
  ])
})

t.test('only what a placeholder accepted counts as recorded, whatever the receipts', async (t) => {
  const { sender } = senderOf('recorded:')
  const send = sendVia(someSenders({ EMAIL: { ...sender, isPlaceholder: true }, SMS: sender }))
  t.strictSame(await send([outgoing('EMAIL', 'a'), outgoing('SMS', 'b')]), [
    { receipt: 'recorded:a', error: null, isRecorded: true },
    { receipt: 'recorded:b', error: null },
  ])
})

t.test('each sender is called once with its own messages, and each row has its delivery', async (t) => {
  const email = senderOf('email:')
  const sms = senderOf('sms:')
  const send = sendVia(someSenders({ EMAIL: email.sender, SMS: sms.sender }))
  const channels = ['SMS', 'EMAIL', 'IN_APP', 'SMS', 'EMAIL'] as const
  const results = await send(channels.map((channel, i) => outgoing(channel, 'abcde'.charAt(i))))
  t.strictSame(results, [
    { receipt: 'sms:a', error: null },
    { receipt: 'email:b', error: null },
    { receipt: null, error: null },
    { receipt: 'sms:d', error: null },
    { receipt: 'email:e', error: null },
  ])
  const seen = ['a', 'd'].map((key) => ({ idempotencyKey: key, to: `to-${key}`, subject: 's', body: 'b' }))
  t.strictSame(sms.batches, [seen], 'a sender sees nothing but the message')
  t.equal(email.batches.length, 1)
})

t.test('a channel without messages is not called', async (t) => {
  const { sender, batches } = senderOf('')
  const send = sendVia(someSenders({ EMAIL: sender, SMS: sender }))
  t.strictSame(await send([outgoing('IN_APP', 'a')]), [{ receipt: null, error: null }])
  t.strictSame(await send([]), [])
  t.equal(batches.length, 0)
})

const answering = (...results: unknown[]) => sending(async () => results as Answer[])
const RECEIPT = accepted('x')
/** A sender's behaviour with two messages, and the error of both. */
const FAILING: readonly (readonly [what: string, sender: Sender, error: string])[] = [
  ['throws an error with a code', throwing, 'failed (EENVELOPE)'],
  [
    'throws at once',
    sending(() => {
      throw new TypeError('x')
    }),
    'failed (TypeError)',
  ],
  ['throws a value that is no Error', sending(() => Promise.reject('x')), 'failed (string)'],
  ['gives no result', answering(), 'answered for 0 of 2 messages'],
  ['gives one result', answering(RECEIPT), 'answered for 1 of 2 messages'],
  ['gives three results', answering(RECEIPT, RECEIPT, RECEIPT), 'answered for 3 of 2 messages'],
  ['gives malformed answers', answering(undefined, {}), 'answered for 0 of 2 messages'],
  [
    'gives an odd receipt and no error',
    answering({ answer: 'accepted', receipt: 5 }, { answer: 'refused' }),
    'answered for 0 of 2 messages',
  ],
]
for (const [what, sender, error] of FAILING) {
  t.test(`a sender that ${what} fails its own messages, and its text is not repeated`, async (t) => {
    const send = sendVia(someSenders({ EMAIL: sender, SMS: senderOf('sms:').sender }))
    const failed = { error: `the EMAIL sender ${error}`, isUnknown: true, receipt: null }
    t.strictSame(await send([outgoing('EMAIL', 'a'), outgoing('SMS', 'b'), outgoing('EMAIL', 'c')]), [
      failed,
      { receipt: 'sms:b', error: null },
      failed,
    ])
  })
}

t.test('a sender that hangs fails its batch alone at the deadline, and is aborted', async (t) => {
  const signals: AbortSignal[] = []
  const late = Promise.withResolvers<never>()
  const hanging = sending((_, { signal }) => {
    signals.push(signal)
    return late.promise
  })
  const send = sendByChannel(someSenders({ EMAIL: hanging, SMS: senderOf('sms:').sender }), 10)
  const deliveries = await send([outgoing('EMAIL', 'a'), outgoing('SMS', 'b')], NO_QUERY)
  t.strictSame(deliveries.get('NTF-a'), {
    error: 'the EMAIL sender did not answer within 10 ms',
    isUnknown: true,
    receipt: null,
  })
  t.strictSame(deliveries.get('NTF-b'), { receipt: 'sms:b', error: null })
  t.equal(signals[0]?.aborted, true)
  late.reject(new Error('too late'))
})

t.test("each message has the sender's answer for it", async (t) => {
  const answers: Answer[] = [
    accepted('x'),
    { answer: 'refused', error: 'full' },
    { answer: 'unknown', error: 'no reply' },
    { answer: 'deferred', error: 'quota' },
  ]
  const send = sendVia(someSenders({ EMAIL: answering(...answers) }))
  t.strictSame(await send(['a', 'b', 'c', 'd'].map((key) => outgoing('EMAIL', key))), [
    { receipt: 'x', error: null },
    { receipt: null, error: 'full' },
    { receipt: null, error: 'no reply', isUnknown: true },
    { receipt: null, error: 'EMAIL deferred: quota', isDeferred: true },
  ])
})

t.test('no part is larger than the maximum of the sender', async (t) => {
  const { sender, batches } = senderOf('email:', 2)
  const send = sendVia(someSenders({ EMAIL: sender }))
  const results = await send(['a', 'b', 'c', 'd', 'e'].map((key) => outgoing('EMAIL', key)))
  t.strictSame(
    batches.map((part) => part.map(({ idempotencyKey }) => idempotencyKey).join('')),
    ['ab', 'cd', 'e'],
  )
  t.strictSame(
    results.map((delivery) => delivery?.receipt),
    ['email:a', 'email:b', 'email:c', 'email:d', 'email:e'],
  )
})

t.test('a failed part leaves the answers of other parts unchanged', async (t) => {
  const sender = sending(async ([message]) => {
    if (message?.idempotencyKey === 'a') throw new Error('x')
    return [accepted('x')]
  }, 1)
  const send = sendVia(someSenders({ EMAIL: sender }))
  t.match(await send([outgoing('EMAIL', 'a'), outgoing('EMAIL', 'b')]), [
    { isUnknown: true },
    { receipt: 'x' },
  ])
})

t.test('a sender that stops at the abort can still answer for each message', async (t) => {
  const stopping = sending(async (_, { signal }) => {
    await once(signal, 'abort')
    return [accepted('x'), { answer: 'deferred', error: 'no time' }]
  })
  const send = sendByChannel(someSenders({ EMAIL: stopping }), 200)
  const deliveries = await send([outgoing('EMAIL', 'a'), outgoing('EMAIL', 'b')], NO_QUERY)
  t.match([...deliveries.values()], [{ receipt: 'x' }, { isDeferred: true }])
})

t.test('messages not passed to the sender before the deadline are deferred', async (t) => {
  const handedOver: string[] = []
  const hanging = sending(async ([message]) => {
    handedOver.push(message?.idempotencyKey ?? '')
    return message?.idempotencyKey === 'a' ? [accepted('x')] : new Promise(() => {})
  }, 1)
  const sms = senderOf('sms:')
  const send = sendByChannel(someSenders({ EMAIL: hanging, SMS: sms.sender }), 10)
  const all = [...['a', 'b', 'c', 'd'].map((key) => outgoing('EMAIL', key)), outgoing('SMS', 'e')]
  const deliveries = await send(all, NO_QUERY)
  t.strictSame(handedOver, ['a', 'b'])
  const late = {
    receipt: null,
    error: 'EMAIL deferred: the deadline passed before the sender got it',
    isDeferred: true,
  }
  t.match(
    all.map(({ locator }) => deliveries.get(locator)),
    [{ receipt: 'x' }, { isUnknown: true }, late, late, { receipt: 'sms:e' }],
  )
})

t.test('a message without the address that its channel needs never reaches the sender', async (t) => {
  const email = senderOf('email:')
  const send = sendVia(someSenders({ EMAIL: email.sender }))
  const results = await send([{ ...outgoing('EMAIL', 'a'), to: null }, outgoing('EMAIL', 'b')])
  t.strictSame(results, [
    { receipt: null, error: 'no address for EMAIL' },
    { receipt: 'email:b', error: null },
  ])
  t.equal(email.batches[0]?.length, 1)
})
