import type { TestMessage } from '../../stack/topics.ts'

/** A message format, its envelope map, and a message of it: claim.paid of party-7 for CLM-1, because it is late. */
export interface Format {
  readonly name: string
  readonly map: Readonly<Record<string, string>>
  readonly message: (eventId: string) => Omit<TestMessage, 'topic'>
}

const PAYLOAD = { member: 'party-7', claim: 'CLM-1', why: 'late' }
const FIELDS = { partyLocator: '/member', locator: '/claim', reason: '/why' }
const IN_DATA = { partyLocator: '/data/member', locator: '/data/claim', reason: '/data/why' }
const OUTBOX = { eventId: 'header:id', eventType: 'header:eventType' }

/** The formats of rules/README.md. */
export const FORMATS: readonly Format[] = [
  {
    name: 'CloudEvents, structured',
    map: { eventId: '/id', eventType: '/type', ...IN_DATA },
    message: (id) => ({
      value: JSON.stringify({ specversion: '1.0', id, type: 'claim.paid', source: '/claims', data: PAYLOAD }),
    }),
  },
  {
    name: 'CloudEvents, binary',
    map: { eventId: 'header:ce_id', eventType: 'header:ce_type', ...FIELDS },
    message: (id) => ({
      headers: { ce_specversion: '1.0', ce_id: id, ce_type: 'claim.paid', ce_source: '/claims' },
      value: JSON.stringify(PAYLOAD),
    }),
  },
  {
    name: 'Debezium outbox, raw',
    map: { ...OUTBOX, ...FIELDS, value: 'json-in-string' },
    message: (id) => ({
      headers: { id, eventType: 'claim.paid' },
      value: JSON.stringify(JSON.stringify(PAYLOAD)),
    }),
  },
  {
    name: 'Debezium outbox, flattened',
    map: { ...OUTBOX, ...FIELDS },
    message: (id) => ({ headers: { id, eventType: 'claim.paid' }, value: JSON.stringify(PAYLOAD) }),
  },
  {
    name: 'Confluent JSON Schema',
    map: { eventId: '/id', eventType: '/type', ...FIELDS, value: 'confluent-json' },
    message: (id) => ({
      value: Buffer.concat([
        Buffer.from([0, 0, 0, 0, 42]),
        Buffer.from(JSON.stringify({ id, type: 'claim.paid', ...PAYLOAD })),
      ]),
    }),
  },
]
