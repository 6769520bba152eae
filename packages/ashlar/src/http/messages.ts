import { type Catalogue, type MessageMaker, messagesOf } from "../messages/index.ts";

/** Messages about inputs of the wrong type, and about requests that cannot be read. */
export const HTTP_MESSAGES = {
  "input.text": 'The field "{name}" must be text.',
  "input.integer": 'The field "{name}" must be a whole number.',
  "input.number": 'The field "{name}" must be a number.',
  "input.boolean": 'The field "{name}" must be true or false.',
  "input.date": 'The field "{name}" must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z.',
  "input.day": 'The field "{name}" must be a day that exists.',
  "input.choice": 'The field "{name}" must be one of {choices}.',
  "input.list": 'The field "{name}" must be a list.',
  "input.invalid": 'The field "{name}" is not valid.',
  "input.invalidAsWhole": "The input is not valid.",
  "request.target": "The address of the request can be read in more than one way.",
  "body.compressed": "The body must not be compressed.",
  "body.cutOff": "The body ended before it was complete.",
  "body.tooLarge": "The body is larger than {max} bytes.",
  "body.fieldsTooLarge": "The fields of the form are too large.",
  "body.type": "The body must be JSON or a form.",
  "body.charset": "The charset of the body must be UTF-8.",
  "body.utf8": "The body is not valid UTF-8.",
  "body.json.syntax": "The body is not valid JSON.",
  "body.json.top": "The top level of a JSON body must be an object or a list.",
  "body.json.values": "The JSON body has more than {max} values.",
  "body.json.depth": "The JSON body is nested too deeply.",
  "body.multipart.boundary": "The Content-Type has no valid boundary.",
  "body.multipart.malformed": "The multipart body is malformed or cut off.",
  "body.multipart.parts": "There are more than {max} parts.",
  "body.multipart.files": "There are more than {max} files.",
  "body.multipart.headers": "The headers of a part are malformed.",
  "body.multipart.repeatedHeader": "A part repeats a header.",
  "body.multipart.disposition": "A part has no valid Content-Disposition with a name.",
  "body.multipart.fileName": "The file name of a part is malformed.",
  "form.fields": "There are more than {max} fields.",
  "form.encoding": "The percent-encoding is malformed or is not UTF-8.",
  "form.brackets": "The name of a field has more than {max} pairs of brackets.",
  "query.utf8": "The query is not valid UTF-8.",
} as const;

declare module "../messages/catalogue.ts" {
  interface FrameworkMessages extends Readonly<typeof HTTP_MESSAGES> {}
}

export const message: MessageMaker<typeof HTTP_MESSAGES> = messagesOf(HTTP_MESSAGES);

export function declareHttpMessages(catalogue: Catalogue): void {
  catalogue.declare(HTTP_MESSAGES, { de: () => import("./messages.de.ts") });
}
