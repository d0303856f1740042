import t from 'tap'
import { loadEnvelopeMap } from '../../../src/core/event/envelope-map.ts'
import { parseEvent } from '../../../src/core/event/parse-event.ts'
import { FORMATS } from './formats.ts'

for (const { name, map, message } of FORMATS) {
  t.test(`${name}: the event has the right party and claim, and a tombstone is ignored`, async (t) => {
    const envelopeMap = loadEnvelopeMap(JSON.stringify(map))
    const { value, headers = {} } = message('e-1')
    const parse = (bytes: Buffer | null) =>
      parseEvent(
        {
          ...{ offset: 0n, key: null, value: bytes },
          headers: Object.fromEntries(
            Object.entries(headers).map(([key, text]) => [key, [Buffer.from(String(text))]]),
          ),
        },
        envelopeMap,
      )
    t.match(parse(Buffer.isBuffer(value) ? value : Buffer.from(String(value))), {
      kind: 'event',
      event: {
        ...{ eventId: 'e-1', eventType: 'claim.paid', partyLocator: 'party-7' },
        ...{ locator: 'CLM-1', reason: 'late' },
      },
    })
    t.match(parse(null), { kind: 'tombstone' })
  })
}
