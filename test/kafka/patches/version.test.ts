import packageJson from 'kafkajs/package.json' with { type: 'json' }
import t from 'tap'

t.test('the patches match the installed version of kafkajs', async (t) => {
  t.equal(
    packageJson.version,
    '2.2.4',
    'read the sources that src/kafka/patches/ and kafkajs-internals.d.ts name again, in the new version',
  )
})
