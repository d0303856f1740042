/** What a message's text is once its templates are filled in. */
export interface Text {
  readonly subject: string
  readonly body: string
}

/**
 * The last step of rendering, whichever program filled in the templates.
 *
 * Subject: each run of control characters or line separators becomes one space. Locator, reason and event type
 * come from outside, and a line break among them would let their sender add headers to an email.
 * Body: loses the line breaks at its end.
 */
export function finish({ subject, body }: Text): Text {
  return { subject: subject.replace(NOT_ON_ONE_LINE, ' '), body: withoutTrailingLineBreaks(body) }
}

const NOT_ON_ONE_LINE = /[\p{Cc}\p{Zl}\p{Zp}]+/gu

/** A loop, because `/[\r\n]+$/` takes quadratic time on a reason that is mostly line breaks. */
function withoutTrailingLineBreaks(text: string): string {
  let end = text.length
  while (end > 0 && (text[end - 1] === '\n' || text[end - 1] === '\r')) end--
  return text.slice(0, end)
}
