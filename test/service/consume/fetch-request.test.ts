import packageJson from 'kafkajs/package.json' with { type: 'json' }
import t from 'tap'
import { decodeFetchResponse } from '../../../src/service/consume/fetch-request.ts'
import { writeFetchResponse } from './write-fetch-response.ts'

t.test('the types of internals match the installed version of kafkajs', async (t) => {
  t.equal(
    packageJson.version,
    '2.2.4',
    'read the sources that src/service/consume/kafkajs-internals.d.ts names again, in the new version',
  )
})

for (const version of [4, 5, 6, 7, 8, 9, 10, 11]) {
  t.test(`version ${version}: each partition gets its own bytes or error`, async (t) => {
    const aborted: [bigint, bigint][] = [[7n, 3n]]
    const response = writeFetchResponse(
      version,
      [{ bytes: Buffer.from('records'), aborted }, { error: 29 }, {}, { error: 1 }],
      2,
    )
    const { responses, clientSideThrottleTime } = decodeFetchResponse(response, version)
    const none = { topic: 'claims', bytes: Buffer.alloc(0), aborted: [] }
    t.strictSame(responses, [
      {
        topic: 'claims',
        partition: 0,
        error: null,
        bytes: Buffer.from('records'),
        aborted: [{ producerId: 7n, firstOffset: 3n }],
      },
      { ...none, partition: 1, error: 'TOPIC_AUTHORIZATION_FAILED' },
      { ...none, partition: 2, error: null },
      { ...none, partition: 3, error: 'OFFSET_OUT_OF_RANGE' },
    ])
    t.equal(clientSideThrottleTime, version < 8 ? 0 : 70)
  })
}

t.test('a response that ends early is an error of ours', async (t) => {
  t.throws(() => decodeFetchResponse(writeFetchResponse(11, [{}]).subarray(0, -9), 11), {
    message: "a broker's response cannot be read",
  })
})
