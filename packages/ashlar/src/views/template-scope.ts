import { EdgeError } from "edge.js";
import { Parser, Stack } from "edge-parser";

/** A node of the parser's tree (ESTree), with only the members that matter here. */
interface Node {
  readonly type: string;
  readonly loc?: { readonly start: { readonly line: number; readonly column: number } };
  readonly name?: string;
  readonly computed?: boolean;
  readonly expression?: Node;
  readonly params?: readonly Node[];
  readonly properties?: readonly Node[];
  readonly elements?: readonly (Node | null)[];
  readonly value?: unknown;
  readonly argument?: Node | null;
  readonly left?: Node;
  shorthand?: boolean;
  [member: string]: unknown;
}

/**
 * The members that hold the parts of an expression. Node types that aren't listed can't be used in a template, such as
 * functions with block bodies, classes, `import()`, and `this`, which would be the global object.
 */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  ArrayExpression: ["elements"],
  AssignmentExpression: ["left", "right"],
  AwaitExpression: ["argument"],
  BinaryExpression: ["left", "right"],
  BlockStatement: ["body"],
  CallExpression: ["callee", "arguments"],
  ChainExpression: ["expression"],
  ConditionalExpression: ["test", "consequent", "alternate"],
  Literal: [],
  LogicalExpression: ["left", "right"],
  NewExpression: ["callee", "arguments"],
  ObjectExpression: ["properties"],
  ReturnStatement: ["argument"],
  SequenceExpression: ["expressions"],
  SpreadElement: ["argument"],
  TemplateLiteral: ["expressions"],
  UnaryExpression: ["argument"],
  UpdateExpression: ["argument"],
};

/** The names in messages of other syntax that a template can't contain. */
const REFUSED: Readonly<Record<string, string>> = {
  ClassDeclaration: "A class",
  ClassExpression: "A class",
  ImportExpression: "import()",
  TaggedTemplateExpression: "A tag before a template literal",
  ThisExpression: '"this"',
};

/** Keywords that look like names. */
const WORDS: ReadonlySet<string> = new Set(["undefined", "NaN", "Infinity"]);

/** Variables of the compiled function that a template may read: the context of its component, and its own path. */
const READABLE: ReadonlySet<string> = new Set(["$context", "$filename"]);

/** Names that the compiled function itself uses. A template's own variables must not shadow them. */
const TAKEN = /^(?:template|state|Object|Error|\$(?:context|filename|lineNumber|out)|(?:slot|stack)_.*)$/;

/**
 * The parts of JavaScript that a template can use: values, and functions without side effects. Data and shared values
 * with the same name take precedence. All other globals, such as `process`, `fetch` or Deno's `name`, are unknown.
 */
const LANGUAGE = {
  Array,
  BigInt,
  Boolean,
  Date,
  Intl,
  JSON,
  Map,
  Math,
  Number,
  Object,
  Promise,
  RegExp,
  Set,
  String,
  URL,
  URLSearchParams,
  decodeURI,
  decodeURIComponent,
  encodeURI,
  encodeURIComponent,
  isFinite: globalThis.isFinite,
  isNaN: globalThis.isNaN,
  parseFloat: globalThis.parseFloat,
  parseInt: globalThis.parseInt,
};

/**
 * Creates the object that all templates' states inherit from. It contains the parts of JavaScript that templates can
 * use, the engine's helpers, and `state`, the state itself, for looking up a value by name. Data named `state` takes
 * precedence over it.
 */
export function commonState(helpers: object): Readonly<Record<string, unknown>> {
  const common = Object.assign(Object.create(null) as Record<string, unknown>, LANGUAGE, helpers);
  return Object.defineProperty(common, "state", {
    get(this: object) {
      return this;
    },
    set(this: object, value: unknown) {
      Object.defineProperty(this, "state", { value, writable: true, enumerable: true, configurable: true });
    },
  });
}

/** Thrown if a template's variable has a name that isn't allowed. */
class TakenName extends Error {}

/** The variables that a template declares itself. */
export class TemplateVariables extends Stack {
  override defineVariable(name: string): void {
    if (TAKEN.test(name)) {
      throw new TakenName(
        `"${name}" can't be the name of a variable: the template engine uses it. Choose another name.`,
      );
    }
    super.defineVariable(name);
  }
}

/** An error in a template's text, with its location. */
function textError(message: string, filename: string, line: number, col: number): EdgeError {
  return new EdgeError(message, "E_UNALLOWED_EXPRESSION", { filename, line, col });
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

/** The message that says why a template can't contain a node, and what to write instead. */
function refusalOf({ type }: Node): string {
  if (/^Function|(?:Statement|VariableDeclaration)$/.test(type)) {
    return "A template may contain arrow functions with one expression, but no statements. Write others as helpers: views.share(name, helper).";
  }
  const what = REFUSED[type] ?? "This expression";
  return `${what} can't be used in a template. Use it in a helper: views.share(name, helper).`;
}

/** Makes an expression read its names only from its template's state. */
class ScopedExpression {
  readonly #variables: Stack;
  readonly #filename: string;

  constructor(variables: Stack, filename: string) {
    this.#variables = variables;
    this.#filename = filename;
  }

  /** Returns the expression, with each name that the template doesn't declare turned into a member of `state`. */
  scope(node: Node): Node {
    switch (node.type) {
      case "ExpressionStatement":
        return this.scope(node.expression!);
      case "Identifier":
        return this.#scopeName(node);
      case "MemberExpression":
        return this.#scopeParts(node, node.computed === true ? ["object", "property"] : ["object"]);
      case "Property":
        node.shorthand = false;
        return this.#scopeParts(node, node.computed === true ? ["key", "value"] : ["value"]);
      case "ArrowFunctionExpression":
        return this.#scopeFunction(node);
      default:
        return this.#scopeParts(node, PARTS[node.type] ?? this.#refuse(node));
    }
  }

  #scopeName(node: Node): Node {
    const name = node.name!;
    if (WORDS.has(name) || READABLE.has(name) || this.#variables.has(name)) return node;
    return { type: "MemberExpression", object: { type: "Identifier", name: "state" }, property: node, computed: false };
  }

  #scopeParts(node: Node, parts: readonly string[]): Node {
    for (const part of parts) {
      const value = node[part];
      // A list may have holes, as in [, second].
      if (Array.isArray(value)) node[part] = value.map((one) => (isNode(one) ? this.scope(one) : one));
      else if (isNode(value)) node[part] = this.scope(value);
    }
    return node;
  }

  #scopeFunction(node: Node): Node {
    this.#variables.defineScope();
    try {
      for (const parameter of node.params!) this.#declare(parameter);
      return this.#scopeParts(node, ["body"]);
    } finally {
      this.#variables.clearScope();
    }
  }

  /** Declares the names in a parameter, which may destructure an object or a list, and have default values. */
  #declare(pattern: Node): void {
    switch (pattern.type) {
      case "Identifier":
        this.#variables.defineVariable(pattern.name!);
        return;
      case "ObjectPattern":
        for (const property of pattern.properties!) {
          if (property.computed === true) this.#refuse(property);
          this.#declare((property.value ?? property.argument) as Node);
        }
        return;
      case "ArrayPattern":
        for (const element of pattern.elements!) if (element !== null) this.#declare(element);
        return;
      case "AssignmentPattern":
        this.#scopeParts(pattern, ["right"]);
        this.#declare(pattern.left!);
        return;
      case "RestElement":
        this.#declare(pattern.argument!);
        return;
      default:
        this.#refuse(pattern);
    }
  }

  #refuse(node: Node): never {
    const { line, column } = node.loc?.start ?? { line: 0, column: 0 };
    throw textError(refusalOf(node), this.#filename, line, column);
  }
}

type Options = ConstructorParameters<typeof Parser>[2];
type Token = Parameters<Parser["processToken"]>[0];
type Mustache = Exclude<Extract<Token, { readonly properties: object }>, { readonly children: unknown }>;
type Buffer = Parameters<Parser["processToken"]>[1];

/**
 * Edge's parser, changed so that a name in a template can only be the template's own variable, its data, or a
 * registered value. Edge itself reads a name from the process's globals if it exists there, which hides data with that
 * name. In Deno, which has `globalThis.name`, this would affect every `{{ name }}`.
 */
export class TemplateParser extends Parser {
  constructor(tags: Parser["tags"], options: Options) {
    super(tags, new TemplateVariables(), options);
    this.utils.transformAst = (node: Node, filename: string): Node =>
      new ScopedExpression(this.stack, filename).scope(node);
  }

  override processToken(token: Token, buffer: Buffer): void {
    try {
      if (token.type === "mustache" || token.type === "s__mustache") this.#processMustache(token as Mustache, buffer);
      else super.processToken(token, buffer);
    } catch (error) {
      if (!(error instanceof TakenName) || !("loc" in token)) throw error;
      throw textError(error.message, token.filename, token.loc.start.line, token.loc.start.col);
    }
  }

  /** Replaces Edge's method, which would scope the names itself. */
  #processMustache({ filename, loc, properties, type }: Mustache, buffer: Buffer): void {
    const expression: Node = this.utils.generateAST(properties.jsArg, loc, filename);
    const scoped: Node = this.utils.transformAst(expression, filename, this);
    const printed = type === "mustache" ? this.utils.makeCallable(["template", "escape"], [scoped]) : scoped;
    buffer.outputExpression(this.utils.stringify(printed), filename, loc.start.line, true);
  }
}
