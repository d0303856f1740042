/** The version and revisions that a member of the consumer group decides by, sent to the others when it joins. */
export interface Build {
  readonly version: string
  readonly ruleTableRevision: string
  /** Null for version 1.1.0. */
  readonly envelopeMapRevision: string | null
  readonly startedMs: number
  /** Its id in the database; null for version 1.1.0, which has none. */
  readonly replica: string | null
}

export function encodeBuild(build: Build): Buffer {
  const { version, ruleTableRevision, envelopeMapRevision, startedMs, replica } = build
  const id = replica === null ? '' : ` replica=${replica}`
  const map = envelopeMapRevision === null ? '' : ` map=${envelopeMapRevision}`
  return Buffer.from(`version=${version} rules=${ruleTableRevision} started=${startedMs}${id}${map}`)
}

/** Null for other programs, and for versions before 1.1.0. */
export function decodeBuild(userData: Buffer | undefined): Build | null {
  const found = /^version=(\S+) rules=(\S+) started=(\d+)(?: replica=(\S+))?(?: map=(\S+))?/.exec(
    String(userData ?? ''),
  )
  if (found === null) return null
  const [, version = '', ruleTableRevision = '', startedMs, replica = null, envelopeMapRevision = null] =
    found
  return { version, ruleTableRevision, envelopeMapRevision, startedMs: Number(startedMs), replica }
}
