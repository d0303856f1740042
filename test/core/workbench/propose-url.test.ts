import t from 'tap'
import { proposeUrlOf } from '../../../src/core/workbench/workbench.ts'

t.test('files are uploaded where their forge takes them', async (t) => {
  for (const url of ['https://github.com/a/b', 'https://github.com/a/b.git'])
    t.equal(proposeUrlOf(url, 'rules'), 'https://github.com/a/b/upload/main/rules')
  t.equal(
    proposeUrlOf('https://gitlab.insurer.example/x/a/b', 'rules'),
    'https://gitlab.insurer.example/x/a/b/-/tree/main/rules',
  )
})
