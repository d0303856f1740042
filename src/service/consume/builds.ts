/** Version and rule table of a member of the consumer group, which tells the others when it joins. */
export interface Build {
  readonly version: string
  readonly ruleTableRevision: string
  readonly startedMs: number
  /** Its id in the database; null for version 1.1.0, which has none. */
  readonly replica: string | null
}

export function encodeBuild({ version, ruleTableRevision, startedMs, replica }: Build): Buffer {
  const id = replica === null ? '' : ` replica=${replica}`
  return Buffer.from(`version=${version} rules=${ruleTableRevision} started=${startedMs}${id}`)
}

/** Null for other programs, and for versions before 1.1.0. */
export function decodeBuild(userData: Buffer | undefined): Build | null {
  const found = /^version=(\S+) rules=(\S+) started=(\d+)(?: replica=(\S+))?/.exec(String(userData ?? ''))
  if (found === null) return null
  const [, version = '', ruleTableRevision = '', startedMs, replica = null] = found
  return { version, ruleTableRevision, startedMs: Number(startedMs), replica }
}
