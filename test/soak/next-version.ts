import { cp, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { above, type Row, rule } from '../authoring/build.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The channel of the next version, which no address is needed for. */
const NEXT_CHANNEL = 'PIGEON'
/** The rules of the next version that its channel and its fact need; the column of that fact is the last. */
const SEND = { party: 'found', optedOut: false, outcome: 'SEND' }
const NEXT_RULES: readonly Row[] = [
  rule({ ...SEND, rule: 'push', preferredChannel: NEXT_CHANNEL }),
  {
    ...rule({ ...SEND, rule: 'by-sms', eventType: 'claim.rejected', phoneOnFile: true, sendBy: 'SMS' }),
    urgent: 'yes',
  },
]

/** What the next version changes in a file: each text must be there. */
const EDITS: Readonly<Record<string, readonly (readonly [text: string, by: string])[]>> = {
  'src/service/decide/party/channel.ts': [
    [
      '  IN_APP: {',
      `  ${NEXT_CHANNEL}: { name: 'push message', address: null, stored: 'pushed', hasSubject: true, isSegmented: false },
  IN_APP: {`,
    ],
  ],
  'src/service/decide/decision/facts.ts': [
    [
      '  ...ON_FILE,\n',
      `  ...ON_FILE,
  urgent: fact({
    column: 'urgent',
    values: [false, true],
    knownFor: NAMED,
    whereUnknown: false,
    usual: false,
    option: ['--urgent', 'the event cannot wait'],
    words: (is) => (is ? 'urgent' : 'not urgent'),
    read: ({ eventType }) => eventType === 'claim.rejected',
  }),
`,
    ],
  ],
}

/**
 * Copies this version to a folder of its own, as the next one: it has migrations (file name to source), a channel and a fact that
 * this one does not know, and rules for both. The caller removes the folder.
 */
export async function makeNextVersion(migrations: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'notifications-next-'))
  for (const part of ['src', 'db', 'test/first', 'test/stack', 'package.json'])
    await cp(join(ROOT, part), join(folder, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const [name, source] of Object.entries(migrations))
    await writeFile(join(folder, 'db/migrations', name), source)
  for (const [file, edits] of Object.entries(EDITS)) await edit(join(folder, file), edits)
  await addColumn(join(folder, 'test/first/rules/dispatch.csv'), (csvText) =>
    above('no-email', NEXT_RULES, csvText),
  )
  await addColumn(join(folder, 'test/first/rules/promises.csv'))
  return { folder, main: join(folder, 'src/main.ts') }
}

async function edit(file: string, edits: readonly (readonly [text: string, by: string])[]): Promise<void> {
  let source = await readFile(file, 'utf8')
  for (const [text, by] of edits) {
    if (!source.includes(text)) throw new Error(`${file} has no longer: ${text}`)
    source = source.replace(text, by)
  }
  await writeFile(file, source)
}

/** Adds the column of the new fact, blank in all rows. */
async function addColumn(
  file: string,
  change: (csvText: string) => string = (csvText) => csvText,
): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
  const rows = lines.map((line, index) => `${line},${index === 0 ? 'urgent' : ''}`)
  await writeFile(file, change(`${rows.join('\n')}\n`))
}
