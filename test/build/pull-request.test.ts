import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { above, promise, type Row, rule } from '../authoring/build.ts'
import { describeThose, PROMISE_COUNT } from '../authoring/default-table.ts'

const ROOT = join(import.meta.dirname, '../..')
const AUTHOR = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']

function git(dir: string, ...args: string[]): string {
  return execFileSync('git', ['-C', dir, ...AUTHOR, ...args], { encoding: 'utf8', stdio: 'pipe' })
}

/** A forge with this project on its branch `main`, as the working tree has it, but with the first rules and texts. */
const forge = (() => {
  const folder = t.testdir({ seed: {}, home: {}, bin: {} })
  const seed = join(folder, 'seed')
  const listed = git(
    ROOT,
    'ls-files',
    '-z',
    '--cached',
    '--others',
    '--exclude-standard',
    '--full-name',
    ':/',
  )
  for (const file of listed.split('\0')) {
    // One that was deleted is listed until that is committed.
    if (/^(|(test|rules|templates)\/.*)$/.test(file) || !existsSync(join(ROOT, file))) continue
    mkdirSync(dirname(join(seed, file)), { recursive: true })
    copyFileSync(join(ROOT, file), join(seed, file))
  }
  for (const folder of ['rules', 'templates'])
    cpSync(join(ROOT, 'test/first', folder), join(seed, folder), { recursive: true })
  git(seed, 'init', '--quiet', '--initial-branch=main')
  git(seed, 'add', '.')
  git(seed, 'commit', '--quiet', '-m', 'as it is')
  const bare = join(folder, 'forge.git')
  git(seed, 'clone', '--quiet', '--bare', seed, bare)
  return { folder, bare }
})()

/**
 * A checkout as a runner makes it: no identity, nothing that git ignores, but with what `make install` installs. It replaces an
 * older one of this name: Node's cache of compiled modules goes by their paths.
 */
function checkOut(name = 'runner'): string {
  const clone = join(forge.folder, name)
  rmSync(clone, { recursive: true, force: true })
  git(forge.folder, 'clone', '--quiet', forge.bare, clone)
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  // They must be older than the installed packages, or make would install them again.
  for (const file of ['package.json', 'package-lock.json']) utimesSync(join(clone, file), 1, 1)
  return clone
}

/** Runs a target as a step of a workflow does. */
function make(dir: string, target: string, variables: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync('make', ['--no-print-directory', target], {
    cwd: dir,
    encoding: 'utf8',
    timeout: 60_000,
    env: {
      PATH: `${join(forge.folder, 'bin')}:${process.env.PATH}`,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
      HOME: join(forge.folder, 'home'),
      GIT_CONFIG_NOSYSTEM: '1',
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      AGAINST: 'origin/main',
      ...variables,
    },
  })
  return { status, stdout, stderr }
}

function edit(dir: string, file: string, change: (text: string) => string): void {
  writeFileSync(join(dir, file), change(readFileSync(join(dir, file), 'utf8')))
}

const insert = (row: Row) => (csvText: string) => above('opted-out', [row], csvText)
const MUTED = { rule: 'muted', eventType: 'invoice.paid', party: 'found', reason: 'muted' }

t.test('for an unchanged table every step passes and says that nothing changes', async (t) => {
  const clone = checkOut()
  t.strictSame(make(clone, 'rules-summary'), {
    status: 0,
    stdout: '### Rule table: 0 situations change\n',
    stderr: 'templates: 21 compiled, module written\n',
  })
  t.match(make(clone, 'rules-check'), { status: 0, stdout: /^rules\/dispatch\.csv: \d+ rules / })
  t.match(make(clone, 'templates-check'), { status: 0, stdout: /^claim\.paid\.mustache: 1 segment /m })
  t.equal(make(clone, 'rules-outcomes').stdout, readFileSync(join(clone, 'rules/outcomes.txt'), 'utf8'))
  t.equal(git(clone, 'status', '--porcelain', '--', '.'), '?? node_modules\n')
})

t.test('the summary of faulty files has each fault, and the checks show it at its line', async (t) => {
  const clone = checkOut()
  edit(clone, 'rules/dispatch.csv', insert(rule({ ...MUTED, eventType: 'invoice.payed', party: 'fuond' })))
  edit(clone, 'rules/promises.csv', (text) =>
    above(null, [promise({ promise: 'Nothing', outcome: 'not SENT' })], text),
  )
  edit(clone, 'templates/claim.paid.mustache', (text) => text.replace('{{locator}}', '{{locater}}'))
  const [summary, checked, texts] = ['rules-summary', 'rules-check', 'templates-check'].map((target) =>
    make(clone, target),
  )
  t.equal(summary?.status, 0)
  t.match(summary?.stdout, /^### 4 faults\n\n/)
  t.match(summary?.stdout, '- rules/dispatch.csv: row 5, column "party": "fuond" is not valid')
  t.match(
    summary?.stdout,
    '- rules/dispatch.csv: row 5, column "event type": there is no template for "invoice.payed"',
  )
  const row = 2 + PROMISE_COUNT
  t.match(summary?.stdout, `- rules/promises.csv: row ${row}, column "outcome": "not SENT" is not valid`)
  t.match(summary?.stdout, /- templates\/claim\.paid\.mustache: line \d+: "locater" is not a variable/)
  t.match(checked?.stdout, /^::error file=rules\/dispatch\.csv,line=5::row 5, column "party": "fuond"/m)
  t.match(checked?.stdout, `::error file=rules/promises.csv,line=${row}::row ${row}, `)
  t.match(texts?.stdout, /^::error file=templates\/claim\.paid\.mustache,line=\d+::"locater" is not a var/m)
  t.not(checked?.status, 0)
  t.not(texts?.status, 0)
})

t.test('the base of a comparison is treated as text, whatever it contains', async (t) => {
  const clone = checkOut()
  for (const target of ['rules-diff', 'rules-summary']) {
    const { status, stderr } = make(clone, target, { AGAINST: "x'; touch broken; '$(touch broken)" })
    t.not(status, 0, target)
    t.match(stderr, /(is neither a|is not a|Not a valid object name)/, target)
  }
  t.notOk(existsSync(join(clone, 'broken')))
})

t.test('the summary has weaker promises first, then warnings, changes by severity, and texts', async (t) => {
  const clone = checkOut()
  edit(clone, 'rules/dispatch.csv', insert(rule({ ...MUTED, eventType: 'invoice.paid or consent.given' })))
  const kept = {
    promise: 'Nobody is told that an invoice is paid',
    eventType: 'invoice.paid',
    party: 'found',
  }
  edit(clone, 'rules/promises.csv', (text) =>
    above(null, [promise({ ...kept, outcome: 'SKIP' })], text.replace(/^We never drop a message.*\n/m, '')),
  )
  edit(clone, 'rules/envelope.json', (text) => text.replace('"/payload/reason"', '"header:reason"'))
  edit(clone, 'templates/claim.paid.mustache', (text) => text.replace('Hello', 'Good news'))
  const { status, stdout } = make(clone, 'rules-summary')
  t.equal(status, 0)
  const order = [
    '> [!CAUTION]\n> **1 envelope field changed**\n',
    '> - envelope field changed: "reason": place "header:reason" instead of "/payload/reason"\n',
    '> [!CAUTION]\n> **1 promise deleted**\n',
    '> - promise deleted: "We never drop a message',
    '### 1 warning\n',
    `### Rule table: ${describeThose({ party: 'found' }).length} situations change: `,
    '#### No longer sent\n\n<details><summary>',
    '#### With another reason only\n',
    '### Promises and rules: 1 promise added, 1 rule added\n\n',
    '- promise added: "Nobody is told that an invoice is paid": event type "invoice.paid", party "found", outcome "SKIP"\n',
    '- rule added: "muted": event type "invoice.paid or consent.given", party "found", outcome "SKIP", reason "muted", because "Y."\n',
    '### Texts: 1 event type with another text\n\nclaim.paid:\n\n```diff\n- Hello,\n+ Good news,\n```\n\n#### claim.paid\n\nBefore:\n',
    '\nHello,',
    'After:\n',
    '\nGood news,',
    '### Not accepted yet: ',
  ].map((part) => stdout.indexOf(part))
  t.notOk(order.includes(-1), stdout)
  t.strictSame(
    order.toSorted((a, b) => a - b),
    order,
  )
})

t.test('make takes rules and texts from HOUSE, and their history from its repository', async (t) => {
  const [product, house] = [checkOut('product'), checkOut('house')]
  const topics = '"topics": { "billing": { "eventId": ["/id", "header:id"] } }'
  edit(house, 'rules/envelope.json', (text) =>
    text.replace('"/payload/reason"', `"header:reason", ${topics}`),
  )
  edit(house, 'templates/claim.paid.mustache', (text) => text.replace('Hello', 'Good news'))
  const HOUSE = '../house'
  t.match(make(product, 'rules-check', { HOUSE }), {
    status: 0,
    stdout: /reason from header:reason\n {2}topic billing: eventId from \/id or header:id, /,
  })
  // Without HOUSE the product's rules would go with the texts of the house.
  const { HOUSE: _, NODE_OPTIONS: __, ...env } = process.env
  t.match(
    spawnSync(join(product, 'src/main.ts'), ['rules', 'check'], { cwd: product, env, encoding: 'utf8' }),
    {
      status: 1,
      stderr: /the compiled texts are those of .*house: run `make build`/,
    },
  )
  t.match(make(product, 'rules-summary', { HOUSE }), {
    status: 0,
    stdout:
      /envelope field changed: "reason": place "header:reason".*added: "billing: eventId": place "\/id or header:id".*Good news/s,
  })
  t.match(make(product, 'rules-accept', { HOUSE }), { status: 0, stdout: /^\+.*Good news/m })
  t.match(readFileSync(join(house, 'rules/outcomes.txt'), 'utf8'), 'Good news')
  t.equal(git(product, 'status', '--porcelain'), '?? node_modules\n')
  t.match(make(product, 'rules-check', { HOUSE: '../nowhere' }), {
    status: 2,
    stderr: /nowhere\/templates cannot be read/,
  })
})

t.test('the rename of one text does not hide the change of another', async (t) => {
  const clone = checkOut()
  const [from, to] = ['claim.info_requested', 'claim.info-requested'].map(
    (type) => `templates/${type}.mustache`,
  )
  renameSync(join(clone, from as string), join(clone, to as string))
  edit(clone, 'templates/claim.paid.mustache', (text) => text.replace('Hello', 'Good news'))
  t.match(make(clone, 'rules-outcomes'), {
    status: 2,
    stderr: /"claim\.info-requested" is not an accepted event type; did you mean "claim\.info_requested"/,
  })
  edit(clone, 'rules/outcomes.txt', (text) => text.replace('claim.info_requested', 'claim.info-requested'))
  const { stdout } = make(clone, 'rules-summary')
  for (const name of ['claim.info_requested', 'claim.info-requested', 'claim.paid'])
    t.match(stdout, `#### ${name}`)
})

/** Stands in for GitHub's command line: answers as it does what the workflow asks, and keeps what it is asked to start. */
function answerAsGitHub(
  { head, fork = false, workflowState = 'active' }: { head: string; fork?: boolean; workflowState?: string },
  made: string | null,
): string {
  const started = join(forge.folder, 'started')
  const download = made === null ? 'exit 1' : `mkdir -p "$7" && cp '${made}' "$7/outcomes.txt"`
  const program = `#!/bin/sh
case "$1 $2" in
  'pr view') [ "$3" = 12 ] || { echo "GraphQL: Could not resolve to a PullRequest with the number of $3." >&2; exit 1; }
    echo 'OPEN ${fork} ${head} ann main change' ;;
  'workflow list') echo ${workflowState} ;;
  'run list') echo 77 ;;
  'run download') ${download} ;;
  'workflow run') echo "$*" >'${started}' ;;
esac
`
  writeFileSync(join(forge.folder, 'bin/gh'), program)
  chmodSync(join(forge.folder, 'bin/gh'), 0o755)
  return started
}

/** A branch of a pull request that mutes a type, and the outcomes that its checks make of it. */
function pullRequest() {
  const author = checkOut('author')
  git(author, 'switch', '--quiet', '--create', 'change')
  edit(author, 'rules/dispatch.csv', insert(rule(MUTED)))
  git(author, 'commit', '--quiet', '--all', '-m', 'Mute a type')
  git(author, 'push', '--quiet', '--force', 'origin', 'change')
  const made = join(author, '.cache-outcomes')
  writeFileSync(made, make(author, 'rules-outcomes').stdout)
  return { author, made, head: git(author, 'rev-parse', 'HEAD').trim() }
}

t.test('outcomes are accepted by a commit of one file, which starts the checks', async (t) => {
  const { author, made, head } = pullRequest()
  const count = describeThose({ party: 'found' }).length
  t.match(make(author, 'rules-summary').stdout, `### Not accepted yet: ${count} entries of `)
  const started = answerAsGitHub({ head }, made)
  const runner = checkOut()
  t.match(make(runner, 'rules-commit', { PR: '12' }), { status: 0, stdout: /^Accepted the outcomes of pull/ })
  t.equal(readFileSync(started, 'utf8'), 'workflow run pull-request.yml --ref change --raw-field base=main\n')
  git(author, 'pull', '--quiet', '--ff-only', 'origin', 'change')
  t.equal(git(author, 'diff', '--name-only', head, 'HEAD'), 'rules/outcomes.txt\n')
  t.match(git(author, 'log', '-1', '--format=%an %p'), `github-actions[bot] ${head.slice(0, 7)}`)
  t.notMatch(make(author, 'rules-summary').stdout, 'Not accepted yet')
  t.equal(readFileSync(join(author, 'rules/outcomes.txt'), 'utf8'), readFileSync(made, 'utf8'))
  t.equal(git(runner, 'rev-parse', '--abbrev-ref', 'HEAD'), 'main\n', 'nothing of the branch was checked out')
})

t.test('nothing is pushed for a fork, an older commit or checks, or other outcomes', async (t) => {
  const { author, made, head } = pullRequest()
  const runner = checkOut()
  const refused = (error: RegExp, variables: Record<string, string> = { PR: '12' }) => {
    const { status, stderr } = make(runner, 'rules-commit', variables)
    t.not(status, 0)
    t.match(stderr, error)
    t.equal(git(forge.bare, 'rev-parse', 'change').trim(), git(author, 'rev-parse', 'HEAD').trim())
  }
  answerAsGitHub({ head, fork: true }, made)
  refused(
    /comes from a fork.*download the artifact "outcomes".*upload it to the branch as rules\/outcomes\.txt/,
  )
  refused(/name the pull request by its number/, { PR: '12; touch x' })
  answerAsGitHub({ head }, made)
  refused(/you opened pull request 12: let somebody else accept/, { PR: '12', GITHUB_ACTOR: 'ann' })
  answerAsGitHub({ head, workflowState: 'disabled_manually' }, made)
  refused(/the checks \(pull-request\.yml\) are switched off.*nothing was pushed/)
  answerAsGitHub({ head }, made)
  refused(/::error::there is no pull request 13 in this repository/, { PR: '13' })
  edit(author, '.github/workflows/pull-request.yml', (text) => text.replace('workflow_dispatch:', 'push:'))
  git(author, 'commit', '--quiet', '--all', '-m', 'Older checks')
  git(author, 'push', '--quiet', 'origin', 'change')
  refused(/stale info|rejected/)
  answerAsGitHub({ head: git(author, 'rev-parse', 'HEAD').trim() }, made)
  refused(/cannot be started by hand: bring it up to date with main; nothing was pushed/)
})
