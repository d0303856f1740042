import requests from 'kafkajs/src/protocol/requests/index.js'
import t from 'tap'
import {
  listUnserved,
  patchMetadataErrors,
  unservedReason,
} from '../../../src/kafka/patches/metadata-errors.ts'

patchMetadataErrors()

for (const version of requests.requests.Metadata.versions) {
  const { response } = requests.requests.Metadata.protocol({ version })({ topics: [] })
  const parse = (topicErrorCode: number, leader: number) =>
    response.parse({
      topicMetadata: [
        {
          topicErrorCode: 0,
          topic: 'claims',
          partitionMetadata: [
            { partitionErrorCode: leader < 0 ? 5 : 0, partitionId: 0, leader },
            { partitionErrorCode: 0, partitionId: 1, leader: 1 },
          ],
        },
        { topicErrorCode, topic: 'billing', partitionMetadata: [] },
      ],
    } as never)

  t.test(
    `version ${version}: a topic without rights or a partition without leader stops no other`,
    async (t) => {
      await parse(0, 1)
      t.equal(unservedReason('billing', 0), null)
      t.match(await parse(29, -1), { topicMetadata: [{ topic: 'claims' }, { topic: 'billing' }] })
      t.match(unservedReason('billing', 3), { reason: 'no-rights', sinceMs: Number })
      const first = unservedReason('claims', 0)
      t.match(first, { reason: 'no-leader', sinceMs: Number })
      t.equal(unservedReason('claims', 1), null)
      t.match(listUnserved(['claims', 'other']), [['claims/0', first]])
      await parse(29, -1)
      t.equal(unservedReason('claims', 0), first, 'since when it is known to be so')
      await parse(29, 2)
      t.equal(unservedReason('claims', 0), null)
      await t.rejects(parse(3, 1), { name: 'KafkaJSProtocolError', message: /does not host/ })
    },
  )
}
