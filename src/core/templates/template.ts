/** What a template may insert. `reason` is null where the event carries none. */
export interface Variables {
  readonly eventType: string
  readonly locator: string
  readonly reason: string | null
}

/** One compiled template. `revision` is the SHA-256 (hex) of `source`, the file's text. */
export interface Template {
  readonly name: string
  readonly revision: string
  readonly source: string
  readonly subject: (variables: Variables) => string
  readonly body: (variables: Variables) => string
}

/** All templates: by event type, and the one for every other type. Look-ups are by own key only. */
export interface Templates {
  readonly byEventType: ReadonlyMap<string, Template>
  readonly generic: Template
}
