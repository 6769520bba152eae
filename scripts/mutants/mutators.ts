// The small changes to a source file that a good test should notice. A change implied by a stronger one is left out: if
// the entire condition becomes `true` and `false`, its comparison doesn't need to be negated as well.

/** A node of oxc-parser's tree (ESTree and its TypeScript). */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** A node's context, for the code that changes it. */
export interface Surroundings {
  readonly parent: Node;
  /** The parent's property that contains the node. */
  readonly role: string;
  /** The text of a node, on one line. */
  text(node: Node): string;
  /** The text between two positions in the file, on one line. */
  between(start: number, end: number): string;
  /** Whether the node is part of an error's or log line's message. */
  readonly inMessage: boolean;
}

/** The replacements of an expression. */
export type Replacement = string;

const boundaries: ReadonlyMap<string, string> = new Map(Object.entries({ "<": "<=", "<=": "<", ">": ">=", ">=": ">" }));

const opposites: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "===": "!==",
    "!==": "===",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "**": "*",
    "&": "|",
    "|": "&",
    "^": "&",
    "<<": ">>",
    ">>": "<<",
    ">>>": "<<",
  }),
);

/** Calls that can be removed from a chain, because they return the type that they are called on. */
const droppableCalls: ReadonlySet<string> = new Set(
  (
    "where whereRef orderBy limit offset forUpdate returning onConflict ifExists ifNotExists groupBy distinct notNull " +
    "filter trim trimStart trimEnd toLowerCase toUpperCase normalize slice sort toSorted reverse flat replace " +
    "replaceAll catch finally unref"
  ).split(" "),
);

const swappedMethods: ReadonlyMap<string, string> = new Map(
  Object.entries({
    every: "some",
    some: "every",
    startsWith: "endsWith",
    endsWith: "startsWith",
    min: "max",
    max: "min",
  }),
);

const logLevels: ReadonlySet<string> = new Set(["trace", "debug", "info", "warn", "error", "fatal"]);

const testRoles: ReadonlySet<string> = new Set([
  "IfStatement.test",
  "ConditionalExpression.test",
  "WhileStatement.test",
  "DoWhileStatement.test",
  "ForStatement.test",
]);

const loops: ReadonlySet<string> = new Set(["WhileStatement", "DoWhileStatement", "ForStatement"]);

function isTest({ parent, role }: Surroundings): boolean {
  return testRoles.has(`${parent.type}.${role}`);
}

function isText(node: Node): boolean {
  return node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node.value === "string");
}

/** Sentences are for people and not part of the behavior; codes, names, keys, addresses and SQL are. */
function isWording(texts: readonly string[], { inMessage }: Surroundings): boolean {
  return inMessage && texts.some((text) => /\s|[.:!?]$/.test(text));
}

function isPlainValue(node: Node): boolean {
  return node.type === "Literal" || (node.type === "Identifier" && node.name === "undefined") || isText(node);
}

/** The text of a template without its placeholders. */
function piecesOf(node: Node): string[] {
  return (node.quasis as (Node & { value: { raw: string } })[]).map(({ value }) => value.raw);
}

/** The same binary expression with another operator. */
function withOperator(node: Node, operator: string, { text }: Surroundings): Replacement {
  return `(${text(node.left as Node)}) ${operator} (${text(node.right as Node)})`;
}

function ofBinary(node: Node, around: Surroundings): Replacement[] {
  const operator = node.operator as string;
  const boundary = boundaries.get(operator);
  if (boundary) {
    const moved = withOperator(node, boundary, around);
    return isTest(around) ? [moved] : [moved, `!(${around.text(node)})`];
  }
  if (isTest(around)) return [];
  if (operator === "in" || operator === "instanceof") return [`!(${around.text(node)})`];
  if (operator === "+" && (isText(node.left as Node) || isText(node.right as Node))) return [];
  const opposite = opposites.get(operator);
  return opposite ? [withOperator(node, opposite, around)] : [];
}

function ofNumber(node: Node): Replacement[] {
  if (typeof node.value === "bigint" || node.bigint) return [node.raw === "0n" ? "1n" : "0n"];
  return [String((node.value as number) + 1)];
}

function ofPattern(node: Node): Replacement[] {
  const { pattern, flags } = node.regex as { pattern: string; flags: string };
  const open = pattern.startsWith("^") && pattern.length > 1 ? [`/${pattern.slice(1)}/${flags}`] : [];
  return pattern.endsWith("$") && !pattern.endsWith("\\$") && pattern.length > 1
    ? [...open, `/${pattern.slice(0, -1)}/${flags}`]
    : open;
}

function ofLiteral(node: Node, around: Surroundings): Replacement[] {
  if (typeof node.value === "boolean") return [String(!node.value)];
  if (typeof node.value === "number" || node.bigint) return ofNumber(node);
  if (node.regex) return ofPattern(node);
  if (typeof node.value !== "string") return [];
  if (around.parent.type === "BinaryExpression" || isWording([node.value], around)) return [];
  return [node.value === "" ? '"mutated"' : '""'];
}

/** `a?.b` as `a.b`: one replacement for every question mark of the chain. */
function ofChain(node: Node, around: Surroundings): Replacement[] {
  const replacements: Replacement[] = [];
  let link = node.expression as Node;
  while (link) {
    const inner = (link.type === "CallExpression" ? link.callee : link.object) as Node | undefined;
    if (!inner || (link.type !== "CallExpression" && link.type !== "MemberExpression")) {
      link = link.expression as Node;
      continue;
    }
    if (link.optional) {
      const mark = around.between(inner.end, link.end);
      const at = mark.indexOf("?.");
      const plain = link.type === "MemberExpression" && !link.computed ? "." : "";
      const after = mark.slice(0, at) + plain + mark.slice(at + 2);
      replacements.push(around.between(node.start, inner.end) + after + around.between(link.end, node.end));
    }
    link = inner;
  }
  return replacements;
}

function ofCall(node: Node, around: Surroundings): Replacement[] {
  const callee = node.callee as Node;
  if (callee.type !== "MemberExpression" || callee.computed) return [];
  const { name } = callee.property as Node & { name: string };
  const object = callee.object as Node;
  const swapped = swappedMethods.get(name);
  if (swapped) return [`${around.text(object)}.${swapped}${around.between((callee.property as Node).end, node.end)}`];
  return droppableCalls.has(name) && object.type !== "Super" ? [around.text(object)] : [];
}

/** The replacements of an expression, one mutant each. */
export function replacementsOf(node: Node, around: Surroundings): Replacement[] {
  const { parent, role, text } = around;
  const found: Replacement[] = [];
  if (isTest(around) && node.type !== "Literal") {
    // A loop whose condition is always true only ends by timeout.
    if (!loops.has(parent.type)) found.push("true");
    found.push("false");
  }
  const returned = parent.type === "ReturnStatement" || (parent.type === "ArrowFunctionExpression" && role === "body");
  if (returned && !isPlainValue(node) && node.type !== "ThisExpression" && node.type !== "BlockStatement") {
    found.push("null");
  }
  switch (node.type) {
    case "BinaryExpression":
      found.push(...ofBinary(node, around));
      break;
    case "LogicalExpression":
      found.push(text(node.left as Node), text(node.right as Node));
      break;
    case "UnaryExpression":
      if (node.operator === "-" || (node.operator === "!" && !isTest(around))) found.push(text(node.argument as Node));
      break;
    case "AwaitExpression":
      found.push(text(node.argument as Node));
      break;
    case "Literal":
      found.push(...ofLiteral(node, around));
      break;
    case "TemplateLiteral":
      if (parent.type !== "TaggedTemplateExpression" && !isWording(piecesOf(node), around)) found.push('""');
      break;
    case "ChainExpression":
      found.push(...ofChain(node, around));
      break;
    case "CallExpression":
      found.push(...ofCall(node, around));
      break;
  }
  return [...new Set(found)];
}

/** Whether a node contains text for people: something thrown, a new error, a log line. */
export function isSaid(node: Node, { text }: Pick<Surroundings, "text">): boolean {
  if (node.type === "ThrowStatement") return true;
  const callee = node.callee as Node | undefined;
  if (node.type === "NewExpression") return /Error$/.test(text(callee!));
  if (node.type !== "CallExpression" || callee!.type !== "MemberExpression" || callee!.computed) return false;
  const { name } = callee!.property as Node & { name: string };
  return logLevels.has(name) && /\blog(ger)?("\))?$/i.test(text(callee!.object as Node));
}

/** Whether a variable or function with this name contains text for an error or the log. */
export function isWordingName(name: string | undefined): boolean {
  return name !== undefined && /(problem|message|remedy)$/i.test(name);
}

/** Whether removing a statement is a mutant. */
export function isRemovable(node: Node): boolean {
  if (node.type === "ThrowStatement") return true;
  if (node.type === "ReturnStatement") return node.argument === null;
  if (node.type !== "ExpressionStatement" || typeof node.directive === "string") return false;
  const expression = node.expression as Node;
  return !(expression.type === "CallExpression" && (expression.callee as Node).type === "Super");
}
