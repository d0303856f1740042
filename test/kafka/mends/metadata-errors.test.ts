import requests from 'kafkajs/src/protocol/requests/index.js'
import t from 'tap'
import { isVisible, mendMetadataErrors } from '../../../src/kafka/mends/metadata-errors.ts'

mendMetadataErrors()

for (const version of requests.requests.Metadata.versions) {
  const { response } = requests.requests.Metadata.protocol({ version })({ topics: [] })
  const parse = (topicErrorCode: number, partitionErrorCode: number) =>
    response.parse({
      topicMetadata: [
        { topicErrorCode: 0, topic: 'claims', partitionMetadata: [{ partitionErrorCode, leader: -1 }] },
        { topicErrorCode, topic: 'billing', partitionMetadata: [] },
      ],
    } as never)

  t.test(
    `version ${version}: a topic without rights, or a partition without leader, stops no other`,
    async (t) => {
      await parse(0, 0)
      t.ok(isVisible('billing'))
      t.match(await parse(29, 5), { topicMetadata: [{ topic: 'claims' }, { topic: 'billing' }] })
      t.notOk(isVisible('billing'))
      t.ok(isVisible('claims'))
      await t.rejects(parse(3, 0), { name: 'KafkaJSProtocolError', message: /does not host/ })
    },
  )
}
