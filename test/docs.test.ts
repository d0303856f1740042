import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..')
const TOP_LEVEL =
  'Makefile README.md db package-lock.json package.json rules src templates test tsconfig.json'

const pages = globSync('**/*.md', {
  cwd: root,
  exclude: (name) => /^(\..+|node_modules|generated)$/.test(name),
})

function read(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

/** The text without what is only quoted: code blocks and code spans. */
function prose(page: string): string {
  return read(page)
    .replace(/^```.*?^```$/gms, '')
    .replace(/`[^`\n]*`/g, '`')
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchors(page: string): string[] {
  const text = read(page).replace(/^```.*?^```$/gms, '')
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** The fault of a link; null if there is none. */
function faultOf(page: string, link: string): string | null {
  if (/^https?:/.test(link)) return null
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(root, target))) return `${page}: there is no ${target}`
  if (anchor === undefined || (target.endsWith('.md') && anchors(target).includes(anchor))) return null
  return `${page}: ${target} has no section #${anchor}`
}

t.test('every relative link leads to a file, and every anchor to a heading', async (t) => {
  t.ok(pages.includes('README.md'))
  const links = pages.flatMap((page) =>
    [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => ({ page, link })),
  )
  t.strictSame(
    links.map(({ page, link }) => faultOf(page, link)).filter((fault) => fault !== null),
    [],
  )
})

t.test('every page can be reached from the README', async (t) => {
  const reached = new Set(['README.md'])
  for (const page of reached) {
    for (const [, link = ''] of prose(page).matchAll(/\]\(([^)#\s]+)/g)) {
      const target = join(dirname(page), link)
      if (pages.includes(target)) reached.add(target)
    }
  }
  t.strictSame(
    pages.filter((page) => !reached.has(page)),
    [],
  )
})

const tracked = spawnSync('git', ['ls-files', '--full-name', ':/'], { cwd: root, encoding: 'utf8' })

t.test(
  'the top level holds only what the README explains',
  { skip: tracked.status !== 0 && 'not a git repository' },
  async (t) => {
    const names = new Set(
      tracked.stdout
        .trim()
        .split('\n')
        .map((path) => path.split('/')[0] ?? ''),
    )
    t.strictSame([...names].filter((name) => !name.startsWith('.')).sort(), TOP_LEVEL.split(' '))
  },
)
